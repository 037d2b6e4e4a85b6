import { finished } from 'node:stream/promises';
import type { Writable } from 'node:stream';
import type { Clock } from '@gantry/base';

/** The time limit for the last bytes, which are few. A client that reads slowly does not extend it. */
const FINISH_MS = 60_000;

/** Ends a stream after these bytes. Resolves when they are sent, the client has disconnected, or the time limit is over. */
export async function finishWriting(
  stream: Writable | undefined,
  clock: Clock,
  bytes: Uint8Array = Buffer.alloc(0),
): Promise<void> {
  if (stream === undefined || stream.destroyed) return;
  const cancel = clock.setTimer(FINISH_MS, () => stream.destroy());
  stream.end(bytes);
  try {
    await finished(stream, { readable: false });
  } catch {
    // The client has disconnected.
  } finally {
    cancel();
  }
}
