import {
  event,
  json,
  NOTHING,
  WITH_KEY,
  type Counts,
  type Failure,
  type Format,
  type Part,
  type Step,
  type Turn,
} from "./script.ts";

const errors: Record<Failure, [code: number, status: string]> = {
  // A wrong key is an argument that is not valid here, with the reason among the details.
  unauthorized: [400, "INVALID_ARGUMENT"],
  unknown_model: [404, "NOT_FOUND"],
  rate: [429, "RESOURCE_EXHAUSTED"],
  credit: [429, "RESOURCE_EXHAUSTED"],
  too_long: [400, "INVALID_ARGUMENT"],
  invalid: [400, "INVALID_ARGUMENT"],
  busy: [503, "UNAVAILABLE"],
  broken: [500, "INTERNAL"],
};
const stops = { end_turn: "STOP", tool_use: "STOP", max_tokens: "MAX_TOKENS", refusal: "SAFETY" };

const rpc = "type.googleapis.com/google.rpc";
const details: Partial<Record<Failure, object[]>> = {
  unauthorized: [{ "@type": `${rpc}.ErrorInfo`, reason: "API_KEY_INVALID", domain: "googleapis.com" }],
};

function error(failure: Failure, message: string, retryIn?: number) {
  const [code, status] = errors[failure];
  const wait = retryIn === undefined ? [] : [{ "@type": `${rpc}.RetryInfo`, retryDelay: `${retryIn / 1000}s` }];
  return { code, message, status, details: [...(details[failure] ?? []), ...wait] };
}

function usage({ input, output, read }: Counts): object {
  return {
    ...(input === undefined ? {} : { promptTokenCount: input + (read ?? 0) }),
    ...(output === undefined ? {} : { candidatesTokenCount: output }),
    totalTokenCount: (input ?? 0) + (read ?? 0) + (output ?? 0),
    ...(read === undefined ? {} : { cachedContentTokenCount: read }),
  };
}

function events(...steps: Step[]): Buffer[] {
  let counts: Counts | undefined;
  let signature: string | undefined;
  const put = (candidate: object) =>
    event({
      candidates: [{ index: 0, ...candidate }],
      ...(counts ? { usageMetadata: usage(counts) } : {}),
      modelVersion: "gemini",
      responseId: "r_1",
    });
  // The signature of a thought comes with what it led to.
  const part = (made: object) => {
    const thoughtSignature = signature;
    signature = undefined;
    return put({ content: { role: "model", parts: [thoughtSignature ? { ...made, thoughtSignature } : made] } });
  };
  return steps.flatMap((step): Buffer[] => {
    if ("say" in step) return [part({ text: step.say })];
    if ("think" in step) {
      const thought = put({ content: { role: "model", parts: [{ text: step.think, thought: true }] } });
      signature = step.signature;
      return step.think === "" ? [] : [thought];
    }
    if ("count" in step) {
      counts = step.count;
      return [];
    }
    if ("stop" in step)
      return [put({ content: { role: "model", parts: [{ text: "" }] }, finishReason: stops[step.stop] })];
    if ("fail" in step) return [event({ error: error(step.fail, step.message) })];
    // Calls come whole: arguments are an object and no text.
    const text = step.args.join("").trim();
    return [
      part({
        functionCall: { id: step.id, name: step.call, ...(text === "" ? {} : { args: JSON.parse(text) as unknown }) },
      }),
    ];
  });
}

interface Sent {
  text?: string;
  thought?: boolean;
  functionCall?: { id?: string; name: string; args: unknown };
  functionResponse?: { id?: string; name: string; response: unknown };
}

function toPart({ text, thought, functionCall, functionResponse }: Sent): Part {
  if (functionCall) return { call: functionCall.name, id: functionCall.name, input: functionCall.args };
  if (functionResponse) return { result: JSON.stringify(functionResponse.response), id: functionResponse.name };
  return thought ? { thinking: String(text) } : { text: String(text) };
}

function toTurns(body: Record<string, unknown>): Turn[] {
  const turns: Turn[] = [];
  for (const { role, parts } of body["contents"] as { role: string; parts: Sent[] }[]) {
    const last = turns.at(-1);
    // What the person says after results is a content of its own here, and a part of one turn.
    const goesOn = role === "user" && last !== undefined && "result" in last.parts.at(-1)!;
    if (goesOn) last.parts.push(...parts.map(toPart));
    else turns.push({ role: role === "model" ? "model" : "user", parts: parts.map(toPart) });
  }
  return turns;
}

/** Gemini's streamGenerateContent. */
export const gemini: Format = {
  name: "Gemini",
  contentType: "text/event-stream",
  keyHeader: "x-goog-api-key",
  options: ({ origin }) => ({
    provider: "google",
    model: "gemini-2.5-flash",
    baseUrl: `${origin}/v1beta`,
    ...WITH_KEY,
  }),
  events,
  // The chunk with the finish reason is followed by the end of the connection.
  end: NOTHING,
  refusal(failure, message, retryIn) {
    return json(errors[failure][0], { error: error(failure, message, retryIn) });
  },
  toTurns,
};
