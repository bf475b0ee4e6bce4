import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { checks, type Outcome } from "../../src/check/index.ts";
import { checked, python, pythonServing } from "./checked.ts";
import { wrongOverHttp } from "./wrong-http.ts";
import { wrongOverStdio } from "./wrong.ts";

/** Where the answer does not come, it is waited for so long. */
const timeoutMs = 4000;
const all = [...wrongOverStdio, ...wrongOverHttp];
const where = { stdio: "", serves: ", served over HTTP,", dials: " that dials in" };

suite("what breaks a rule fails its check, and the report shows it", { concurrency: 3 }, () => {
  for (const { kind, wrong, rule, title, shows, way } of all) {
    test(`a ${kind}${where[way]} that is wrong in "${wrong}" fails ${rule}: ${title}`, async (t) => {
      const component = way === "serves" ? await pythonServing(t, kind, wrong) : python(kind, wrong);
      const options = { rules: [rule], timeoutMs };
      const outcomes = await checked(component, way === "dials" ? { ...options, dialsIn: true } : options);
      const outcome = outcomes.find((one) => one.title.startsWith(title))!;
      assert.equal(outcome.state, outcome.level === "SHOULD" ? "warned" : "failed", JSON.stringify(outcomes));
      assert.match(shown(outcome), shows);
    });
  }
});

test("every check has a satellite that fails it", () => {
  const found = (rule: string, title: string) => all.some((one) => one.rule === rule && title.startsWith(one.title));
  assert.deepEqual(
    checks.filter(({ rule, title }) => !found(rule, title)).map(({ rule, title }) => `${rule} ${title}`),
    [],
  );
});

/** Some of it is where a person looks first: each line is shown as it went. */
function shown({ expected, got, lines = [] }: Outcome): string {
  return [expected, got, ...lines.map(({ from, line }) => `${from} ${line}`)].join("\n");
}
