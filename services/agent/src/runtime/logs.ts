import type { Instant } from '@gantry/base';

/** Which part of a log is read. */
export interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines?: number;
  readonly since?: Instant;
}

/** Reads logs of containers, running or not. */
export interface LogRuntime {
  /** Standard output and error, interleaved as written, without framing. Ends with the log, or with the container while following. */
  readLogs(containerId: string, options: LogOptions, signal: AbortSignal): AsyncIterable<Uint8Array>;
}
