/** What a peer says in another's name: it must never be seen again. */
export const FORGED = "FORGED";
