/** Stands in for `node:test` while mutants are tried: collects the tests, to be run again for the next mutant. */
type Body = () => unknown;

export const collected: Body[] = [];

export function test(_name: string, body: Body): void {
  collected.push(body);
}

export function suite(_name: string, body: Body): void {
  body();
}
