/**
 * The work itself, the same for every contender: who is measured only says how a turn is started or a call is made.
 * Whatever is measured is also checked: a text that is not whole or an answer that is not the question's is an error.
 */
import { performance } from "node:perf_hooks";

/** Figures of one run, by column key. Times are in µs, rates in events or calls a second. */
export type Figure = Record<string, number>;

export const CHUNKS = 20_000; // a turn
export const TURNS = 5; // measured, after one to warm up
export const LENGTH_CHUNKS = 100_000; // of turns of any length
export const BATCH = 100; // chunks a producer hands over before it yields to its event loop
export const BLOCK = 1_000; // chunks of one text: about what a long answer has
export const DELTA = "a few tokens ok "; // one chunk's text, 16 bytes
export const IN_FLIGHT = 100;
/** Tool calls one after the other, and with 100 in flight; over HTTP fewer, as some peers take ten times as long. */
export const CALLS = { sequential: 2_000, pipelined: 20_000 };
export const HTTP_CALLS = { sequential: 500, pipelined: 2_000 };

/** One chunk as a Hub delivers it: 215 bytes or so as a line. */
export const chunkEvent = (n: number) => ({
  event_type: "infer_chunk",
  kind: "block_delta",
  scope: "u_7f3a/c_2",
  loop_id: "l_90b41c77",
  round: 0,
  attempt: 0,
  n,
  index: 0,
  block_type: "text",
  delta: DELTA,
  from: "bb-infer",
  ts: 1_764_000_000_000 + n,
});

/**
 * Chunk relay. `turn(number, chunk)` starts a turn, calls `chunk` with the text of each chunk that arrives and
 * resolves after the last one; `begin` is called after the warm-up. The clock runs from a turn's first chunk to its
 * last, in the process that reads them. Chunks are counted as they arrive: merged ones count once.
 */
export async function relayWork(
  turn: (number: number, chunk: (delta: string) => void) => Promise<void>,
  begin: () => void = () => {},
  { chunks = CHUNKS, turns = TURNS } = {},
): Promise<Figure> {
  const whole = chunks * DELTA.length;
  const warmUp = Math.ceil(turns / 5);
  let elapsed = 0;
  let arrived = 0;
  let cpu = process.cpuUsage();
  for (let number = 0; number < turns + warmUp; number++) {
    if (number === warmUp) {
      begin();
      cpu = process.cpuUsage();
      elapsed = arrived = 0;
    }
    let first = 0;
    let last = 0;
    let characters = 0;
    await turn(number, (delta) => {
      if (characters === 0) first = performance.now();
      characters += delta.length;
      arrived++;
      if (characters === whole) last = performance.now();
    });
    if (characters !== whole) throw new Error(`turn ${number} delivered ${characters} of ${whole} characters`);
    elapsed += last - first;
  }
  return { events_per_s: arrived / (elapsed / 1e3), cpu_us: micros(cpu) / (turns * chunks) };
}

const FIRSTS = 500;

/** Time to first chunk, one turn after the other. `turn` asks for one, calls `first` when it is there, resolves at its end. */
export async function firstWork(turn: (number: number, first: () => void) => Promise<void>): Promise<Figure> {
  const times: number[] = [];
  for (let number = 0; number < FIRSTS + FIRSTS / 5; number++) {
    const started = performance.now();
    let took = NaN;
    await turn(number, () => (took = performance.now() - started));
    if (Number.isNaN(took)) throw new Error(`turn ${number} ended without a chunk`);
    if (number >= FIRSTS / 5) times.push(took * 1e3);
  }
  return percentiles(times);
}

export function percentiles(times: number[]): { p50_us: number; p99_us: number } {
  const sorted = times.sort((a, b) => a - b);
  return {
    p50_us: sorted[Math.floor(sorted.length * 0.5)] ?? NaN,
    p99_us: sorted[Math.floor(sorted.length * 0.99)] ?? NaN,
  };
}

/**
 * Tool round trip. `call(text, lane)` asks the echo tool and returns its text; a lane (0 to 99) has one call in flight
 * at a time. First one call after the other (p50, p99), then 100 in flight (rate, CPU); `begin` is called between.
 */
export async function callWork(
  call: (text: string, lane: number) => Promise<string>,
  begin: () => void = () => {},
  calls = CALLS,
): Promise<Figure> {
  let made = 0;
  const checked = async (lane: number) => {
    const text = `call ${made++} of the echo tool, with a line of text to carry there and back`;
    const answer = await call(text, lane);
    if (answer !== text) throw new Error(`the echo tool answered ${JSON.stringify(answer)} to ${JSON.stringify(text)}`);
  };
  const sequential = async (count: number) => {
    const times: number[] = [];
    for (let i = 0; i < count; i++) {
      const started = performance.now();
      await checked(0);
      times.push((performance.now() - started) * 1e3);
    }
    return percentiles(times);
  };
  const pipelined = async (count: number) => {
    const until = made + count;
    const lane = async (_: unknown, number: number) => {
      while (made < until) await checked(number);
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  };

  await sequential(calls.sequential / 4);
  const latency = await sequential(calls.sequential);
  await pipelined(calls.pipelined / 4);
  begin();
  const cpu = process.cpuUsage();
  const started = performance.now();
  await pipelined(calls.pipelined);
  const seconds = (performance.now() - started) / 1e3;
  return {
    ...latency,
    calls_per_s: calls.pipelined / seconds,
    cpu_us: micros(cpu) / calls.pipelined,
  };
}

/** Events or calls that a figure's `cpu_us` is spread over: for a Hub, whose CPU is read from outside the work. */
export const MEASURED = { relay: TURNS * CHUNKS, tool: CALLS.pipelined, httpTool: HTTP_CALLS.pipelined };

/** CPU µs of this process, user and system, since `start`. */
export const micros = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start);
  return user + system;
};
