import type { Readable, Writable } from 'node:stream';
import type { Status } from '@gantry/objects';

/** The streams that a request for exec or attach names. */
export interface CommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never with a terminal, which has one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A client's ends of the streams of a process, in whatever protocol. Streams that were not asked for are absent. */
export interface CommandStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Sizes of the terminal, in JSON, one after the other. */
  readonly resize: Readable | undefined;
  /** Aborted when the client has gone. */
  readonly ended: AbortSignal;
  /** Sends how it went, after all output, and ends the connection. Once. */
  finish(outcome: CommandOutcome): Promise<void>;
}

/** How a process or the try to start it ended. */
export type CommandOutcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'failure'; readonly message: string };

/** The Status of an outcome, as the kubelet words it: without the type of the object. */
function statusOf(outcome: CommandOutcome): Omit<Status, 'kind' | 'apiVersion'> {
  switch (outcome.kind) {
    case 'success':
      return { metadata: {}, status: 'Success' };
    case 'exit':
      if (outcome.code === 0) return { metadata: {}, status: 'Success' };
      return {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: command terminated with exit code ${outcome.code}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(outcome.code) }] },
      };
    case 'failure':
      return {
        metadata: {},
        status: 'Failure',
        message: `Internal error occurred: ${outcome.message}`,
        reason: 'InternalError',
        details: { causes: [{ message: outcome.message }] },
        code: 500,
      };
  }
}

/** What goes through the error stream: a Status in JSON, or in older protocols the text of a failure. */
export function outcomeBytes(outcome: CommandOutcome, as: 'status' | 'text'): Buffer {
  const status = statusOf(outcome);
  if (as === 'status') return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.status === 'Success' ? '' : (status.message ?? ''));
}
