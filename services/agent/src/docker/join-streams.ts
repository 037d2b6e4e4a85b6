import type { Duplex } from 'node:stream';
import { type Clock, pause, raceAbort } from '@gantry/base';
import type { ProcessInput, ProcessOutput, TerminalSize } from '../runtime/streams.ts';
import { outputParts } from './demultiplex.ts';
import { written } from './written.ts';

/** Attempts to set a size: the engine refuses it until the process has begun. */
const RESIZE = { times: 10, everyMs: 20 };

/** The engine sends up to this much at once. */
const PIECE_BYTES = 32 * 1024;
/**
 * The pause after a read of bulk data, in which more data arrives. Without it, each piece passes alone through all processes up to the client:
 * a gigabyte then costs the agent 4.3 s of CPU instead of 1.8 s, and the API server 3.5 s instead of 2.0 s.
 */
const GATHER_MS = 1;

interface Joined extends ProcessInput {
  readonly terminal: 'none' | 'tty';
  readonly resize: (size: TerminalSize) => Promise<unknown>;
  readonly clock: Clock;
}

/**
 * Yields the output of a hijacked connection while it sends the input. Fails when an input fails. Ends with the connection, which is
 * destroyed when the caller stops reading.
 */
export async function* joinStreams(socket: Duplex, joined: Joined): AsyncIterable<ProcessOutput> {
  const ended = new AbortController();
  // Errors are reported by the iteration below. This handler keeps later errors from ending the process.
  socket.on('error', () => undefined);
  const { stdin, sizes, terminal } = joined;
  const fail = (error: unknown): void => {
    if (!ended.signal.aborted) socket.destroy(error as Error);
  };
  if (stdin !== undefined) send(socket, stdin, ended.signal).catch(fail);
  if (sizes !== undefined && terminal === 'tty') showSizes(joined, sizes, ended.signal).catch(fail);
  try {
    const chunks = gathered(socket, joined.clock, ended.signal);
    if (terminal === 'none') yield* outputParts(chunks);
    else for await (const data of chunks) yield { kind: 'stdout', data };
  } finally {
    ended.abort();
    socket.destroy();
  }
}

/** The chunks of a connection, with a pause after a chunk of bulk data. */
async function* gathered(socket: Duplex, clock: Clock, ended: AbortSignal): AsyncIterable<Uint8Array> {
  for await (const chunk of socket as AsyncIterable<Uint8Array>) {
    yield chunk;
    if (chunk.length >= PIECE_BYTES) await pause(clock, GATHER_MS, ended);
  }
}

/** Sends until standard input or the output ends. */
async function send(socket: Duplex, stdin: AsyncIterable<Uint8Array>, ended: AbortSignal): Promise<void> {
  for await (const data of untilAborted(stdin, ended)) await raceAbort(written(socket, data), ended);
  socket.end();
}

async function showSizes({ resize, clock }: Joined, sizes: AsyncIterable<TerminalSize>, ended: AbortSignal) {
  const show = latestOf((size: TerminalSize) => resizeBegun(resize, size, clock, ended));
  for await (const size of untilAborted(sizes, ended)) show(size);
}

/** Reads and drops unwanted data until aborted. Otherwise the client would block, and its end would not be noticed. Never fails. */
export async function discard(data: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
  try {
    for await (const _ of untilAborted(data, signal));
  } catch {
    // The client has left.
  }
}

/** Fails with the reason of `signal`, even if no further element comes. */
async function* untilAborted<T>(elements: AsyncIterable<T>, signal: AbortSignal): AsyncIterable<T> {
  const iterator = elements[Symbol.asyncIterator]();
  for (;;) {
    const next = await raceAbort(iterator.next(), signal);
    if (next.done === true) return;
    yield next.value;
  }
}

/** Ignores a size that cannot be set: the process has ended, or keeps its size. */
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

/** Applies values one after the other. Of several values that arrive meanwhile, only the last is applied. */
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
