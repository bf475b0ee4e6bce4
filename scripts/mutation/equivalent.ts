/** A change that no test can notice, and why. `code`: the line it is in; `to`: what it puts there. */
export interface Equivalent {
  file: string;
  code: string;
  from: string;
  to: string;
  why: string;
}

export const equivalents: readonly Equivalent[] = [];
