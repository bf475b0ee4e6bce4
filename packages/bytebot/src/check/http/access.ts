import { isLoopback } from "../../transport/index.ts";
import { Inapplicable, Unmet, type Check } from "../check.ts";
import { newId } from "../work.ts";
import type { Answer } from "./ask.ts";
import type { Dialing } from "./dialing.ts";
import { refused, said, serves, SOON_MS } from "./serves.ts";

/** Who may use a satellite that serves (rules HTP-11 and HTP-12). */
export const accessChecks: Check[] = [
  serves(
    {
      rule: "HTP-11",
      title: "Without its token, or with another one, it answers 401 and unauthorized",
      fix: "compare Authorization with Bearer and BYTEBOT_TOKEN before all else, in constant time",
    },
    async (http) => {
      const bare = await knock(http, {});
      if (bare.status !== 401 && isLocal(http) && http.target.token === undefined)
        throw new Inapplicable("it asks for no token, which it need not on loopback; BYTEBOT_TOKEN is what it is sent");
      refused(bare, 401, "unauthorized", "GET /stream without a token");
      refused(await knock(http, { authorization: `Bearer ${newId("t")}` }), 401, "unauthorized", "another token");
    },
  ),
  serves(
    {
      rule: "HTP-11",
      title: "It does not serve on an address that other machines reach without a token",
      fix: "listen on 127.0.0.1, or ask for a token",
    },
    async (http) => {
      const { hostname, port } = http.target.stream;
      if ((await knock(http, {})).status === 401) return;
      if (!isLocal(http)) throw new Unmet("401 without a token", `${hostname}, which takes anybody`);
      if (!hostname.startsWith("127.") && hostname !== "localhost")
        throw new Inapplicable("which addresses it listens on is seen of 127.0.0.1 alone");
      let other: Answer;
      try {
        other = await knock(http, { host: `${hostname}:${port}` }, OTHER_ADDRESS);
      } catch (error) {
        // Nobody is there: it listens on the one address alone.
        if (error instanceof Unmet) return;
        throw error;
      }
      if (other.status !== 401)
        throw new Unmet(
          `nothing at ${OTHER_ADDRESS}: 127.0.0.1 alone, or a token`,
          `${said(other)}: it listens on all`,
        );
    },
  ),
  serves(
    {
      rule: "HTP-12",
      title: "A page of another origin or site gets 403, and nothing allows it more",
      fix: "refuse an Origin that is not your own, and Sec-Fetch-Site cross-site or same-site; send no CORS header",
    },
    async (http) => {
      const foreign = [{ origin: "https://pages.example" }, { "sec-fetch-site": "cross-site" }];
      for (const headers of foreign) {
        const answer = await knock(http, { ...authorization(http), ...headers });
        if (answer.status !== 403) throw new Unmet(`403 to ${JSON.stringify(headers)}`, said(answer));
        allowsNone(answer);
      }
      allowsNone({ status: 200, headers: http.stream.response.headers, lines: [] });
    },
  ),
  serves(
    {
      rule: "HTP-12",
      title: "A request whose Host is another's gets 403",
      fix: "on loopback take localhost, 127.0.0.1 and [::1], with any port, and nothing else",
    },
    async (http) => {
      if (!isLocal(http)) throw new Inapplicable("which names it may be called by is seen on loopback alone");
      const answer = await knock(http, { ...authorization(http), host: "pages.example" });
      if (answer.status !== 403) throw new Unmet('403 to "Host: pages.example"', said(answer));
    },
  ),
];

/** Where all of 127/8 is this machine, as on Linux, it answers only if every address was asked for. */
const OTHER_ADDRESS = "127.0.0.2";

/** A request that begins nothing, whatever it is answered: of a connection that nobody has, and that had events. */
function knock(http: Dialing, headers: Record<string, string>, host?: string): Promise<Answer> {
  const nobody = { "bytebot-connection": newId("k"), "bytebot-received": "1" };
  const question = { method: "GET", headers: { ...nobody, ...headers }, host, bare: true };
  return http.asker.ask(http.target.stream, question, SOON_MS);
}

function authorization({ target }: Dialing): Record<string, string> {
  return target.token === undefined ? {} : { authorization: `Bearer ${target.token}` };
}

function isLocal({ target }: Dialing): boolean {
  const { protocol, hostname } = target.stream;
  return protocol === "http+unix:" || isLoopback(hostname.replace(/^\[|\]$/g, ""));
}

function allowsNone({ headers }: Answer): void {
  const cors = Object.keys(headers).find((name) => name.startsWith("access-control-"));
  if (cors !== undefined) throw new Unmet("no CORS header", `${cors}: ${String(headers[cors])}`);
}
