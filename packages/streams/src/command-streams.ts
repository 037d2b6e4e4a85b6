import type { Readable, Writable } from 'node:stream';
import type { Status } from '@gantry/objects';

/** The streams that a request for exec or attach names. */
export interface CommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** Never with a terminal, because a terminal has only one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The client's ends of a process's streams, in any protocol. Streams that the client did not request are absent. */
export interface CommandStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** A sequence of terminal sizes in JSON. */
  readonly resize: Readable | undefined;
  /** Aborted when the client has disconnected. */
  readonly ended: AbortSignal;
  /** Sends the outcome after all output, and ends the connection. Called once. */
  finish(outcome: CommandOutcome): Promise<void>;
}

/** The end of a process, or of the attempt to start it. */
export type CommandOutcome =
  | { readonly kind: 'success' }
  | { readonly kind: 'exit'; readonly code: number }
  | { readonly kind: 'failure'; readonly message: string };

/** The Status of an outcome, with the kubelet's messages and, like its own, without kind and apiVersion. */
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

/** The content of the error stream: a Status in JSON, or in older protocols the text of a failure. */
export function outcomeBytes(outcome: CommandOutcome, as: 'status' | 'text'): Buffer {
  const status = statusOf(outcome);
  if (as === 'status') return Buffer.from(JSON.stringify(status));
  return Buffer.from(status.status === 'Success' ? '' : (status.message ?? ''));
}
