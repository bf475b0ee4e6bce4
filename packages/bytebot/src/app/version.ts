import manifest from "../../package.json" with { type: "json" };

/** Of this package: what a satellite reads in `bb_sync_ack.hub`. */
export const version: string = manifest.version;
