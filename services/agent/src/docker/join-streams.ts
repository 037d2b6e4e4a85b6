import type { Duplex } from 'node:stream';
import { type Clock, pause, raceAbort } from '@gantry/base';
import type { ProcessInput, ProcessOutput } from '../runtime/streams.ts';
import { outputParts } from './demultiplex.ts';
import { written } from './written.ts';

/** Size of a terminal in characters. */
interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The engine refuses a size until the process has begun. */
const RESIZE = { times: 10, everyMs: 20 };

interface Joined {
  readonly stdin: boolean;
  readonly terminal: 'none' | 'tty';
  readonly input: AsyncIterable<ProcessInput>;
  readonly resize: (size: TerminalSize) => Promise<unknown>;
  readonly clock: Clock;
}

/**
 * The output of a hijacked connection, while the input is sent to it. Fails when the input fails. Ends with the connection, which is
 * destroyed when the output is no longer read.
 */
export async function* joinStreams(socket: Duplex, joined: Joined): AsyncIterable<ProcessOutput> {
  const ended = new AbortController();
  // Errors come out of the iteration below; this keeps those that follow from ending the process.
  socket.on('error', () => undefined);
  void send(socket, joined, ended.signal);
  try {
    if (joined.terminal === 'none') yield* outputParts(socket as AsyncIterable<Uint8Array>);
    else for await (const data of socket as AsyncIterable<Uint8Array>) yield { kind: 'stdout', data };
  } finally {
    ended.abort();
    socket.destroy();
  }
}

/** Sends until the input or the output ends. Never fails: a failure of the input destroys the connection. */
async function send(socket: Duplex, { stdin, input, resize, terminal, clock }: Joined, ended: AbortSignal) {
  const show = latestOf((size: TerminalSize) => resizeBegun(resize, size, clock, ended));
  const iterator = input[Symbol.asyncIterator]();
  try {
    for (;;) {
      const next = await raceAbort(iterator.next(), ended);
      const part = next.done === true ? ({ kind: 'stdin-closed' } as const) : next.value;
      if (part.kind === 'resize') {
        if (terminal === 'tty') show(part);
      } else if (stdin && !socket.writableEnded) {
        if (part.kind === 'stdin-closed') socket.end();
        else await raceAbort(written(socket, part.data), ended);
      }
      if (next.done === true) return;
    }
  } catch (error) {
    if (!ended.aborted) socket.destroy(error as Error);
  }
}

/** A size that cannot be set changes nothing for the process: it has ended, or keeps the size that it has. */
async function resizeBegun(resize: Joined['resize'], size: TerminalSize, clock: Clock, ended: AbortSignal) {
  for (let tried = 0; tried < RESIZE.times && !ended.aborted; tried++) {
    try {
      await resize(size);
      return;
    } catch {
      await pause(clock, RESIZE.everyMs, ended);
    }
  }
}

/** Applies values one after the other; of those that come meanwhile only the last. */
function latestOf<T>(apply: (value: T) => Promise<void>): (value: T) => void {
  let waiting: { readonly value: T } | undefined;
  let state: 'idle' | 'busy' = 'idle';
  const work = async (): Promise<void> => {
    state = 'busy';
    for (let next = waiting; next !== undefined; next = waiting) {
      waiting = undefined;
      await apply(next.value);
    }
    state = 'idle';
  };
  return (value) => {
    waiting = { value };
    if (state === 'idle') void work();
  };
}
