import { shown, type Server } from "./errors.ts";

/** Lines in all: what a package says may differ from request to request. */
const MOST = 100;

/** Of whichever version of the interface. */
interface Warning {
  type: string;
  feature?: string;
  /** What `feature` was called in version 2. */
  setting?: string;
  details?: string;
  message?: string;
}

/** What a package says of a request that it sent otherwise than it was asked: a line for people, once for each model. */
export class Warnings {
  private readonly told = new Set<string>();
  private readonly report: (line: string) => void;

  constructor(report: (line: string) => void) {
    this.report = report;
  }

  tell(warnings: readonly object[], server: Server): void {
    for (const warning of warnings) {
      const line = `bb-infer: ${server.model} at ${server.baseUrl}: ${shown(said(warning as Warning), server)}`;
      if (this.told.has(line) || this.told.size === MOST) continue;
      this.told.add(line);
      this.report(line);
    }
  }
}

function said({ type, feature, setting, details, message }: Warning): string {
  const name = feature ?? setting;
  if (name === undefined) return message ?? details ?? type;
  const why = details === undefined ? "" : ` (${details})`;
  return type === "compatibility" ? `${paramOf(name)} is sent otherwise${why}` : `${paramOf(name)} is left out${why}`;
}

/** The package's name for a parameter → ours. */
function paramOf(name: string): string {
  const ours: Record<string, string> = { stopSequences: "stop", maxOutputTokens: "max_tokens" };
  const own = Object.hasOwn(ours, name) ? ours[name] : undefined;
  return own ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
