/** Where Node keeps what its `fetch` sends by; the second name is that of newer releases, beside the first or alone. */
const PLACES = [Symbol.for("undici.globalDispatcher.2"), Symbol.for("undici.globalDispatcher.1")];

interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/**
 * `fetch` without its own limits of five minutes on a silence, before the headers and in the body: whoever calls has others,
 * and keeps them. Everything else, a proxy above all, stays as the process has it.
 */
export const patientFetch: typeof fetch = (input, init) => {
  void Response; // Node makes its dispatcher when the first of these names is used
  const places = globalThis as unknown as Record<symbol, Dispatcher | undefined>;
  const own = PLACES.map((place) => places[place]).find((one) => one !== undefined);
  if (!own) return fetch(input, init);
  const dispatcher: Dispatcher = {
    dispatch: (options, handler) => own.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler),
  };
  return fetch(input, { ...init, dispatcher } as RequestInit);
};
