import { BytebotError } from "bytebot/sdk";
import { untilDone } from "./done.ts";
import { isHtml, shown, type Server } from "./errors.ts";

const READ = 64 * 1024;

/**
 * A fetch whose body may not fall silent: after `idleMs` without a byte, headers included, it fails as `timeout` and the
 * connection is closed. Comments that keep a stream alive count. It ends at `[DONE]`. A 200 that is no event stream fails
 * with what it is.
 */
export function watchedFetch(server: Server, idleMs: number): typeof fetch {
  const { baseUrl } = server;
  return async (input, init) => {
    const idle = new AbortController();
    const stalled = () => {
      const message = `${baseUrl} has sent nothing for ${idleMs / 1000} s: it may be overloaded or still loading the model. Try again, or raise opts.params.idle_timeout_ms`;
      idle.abort(new BytebotError("timeout", message, { retryable: true }));
    };
    let timer: NodeJS.Timeout | undefined;
    const done = () => clearTimeout(timer);
    const alive = () => {
      done();
      timer = setTimeout(stalled, idleMs);
      timer.unref(); // the socket keeps the process alive, not the watch over it
    };
    alive();
    try {
      const signal = init?.signal ? AbortSignal.any([init.signal, idle.signal]) : idle.signal;
      const response = await fetch(input, { ...init, signal });
      alive();
      const body = response.body
        ?.pipeThrough(
          new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
            transform(chunk, controller) {
              alive();
              controller.enqueue(chunk);
            },
            flush: done,
            cancel: done,
          }),
        )
        .pipeThrough(untilDone());
      signal.addEventListener("abort", done, { once: true });
      const watched = new Response(body ?? null, response);
      const type = response.headers.get("content-type") ?? "";
      if (response.ok && /html|json/.test(type) && !/ndjson|event-stream/.test(type))
        throw await noStream(server, watched);
      return watched;
    } catch (error) {
      done();
      throw idle.signal.aborted ? idle.signal.reason : error;
    }
  };
}

async function noStream(server: Server, response: Response): Promise<BytebotError> {
  const { baseUrl } = server;
  const text = await beginning(response);
  if (isHtml(text)) {
    return new BytebotError(
      "unavailable",
      `${baseUrl} answered with a web page (HTML), not an API: correct base_url; it usually ends in /v1`,
    );
  }
  const message = `${baseUrl} answered with JSON where a stream was asked for: ${shown(text, server)}`;
  return new BytebotError("unavailable", `${message}. Use a server that streams chat completions`);
}

async function beginning(response: Response): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > READ) break;
  }
  return text;
}
