import { finished } from 'node:stream/promises';
import type { Writable } from 'node:stream';
import type { Clock } from '@gantry/base';

/** For the last bytes, which are few. A client that reads on and on sets no new deadline. */
const FINISH_MS = 60_000;

/** Ends a stream after these bytes; resolves when they have gone out, or the client has gone or does not read them in time. */
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
    // The client cannot be told anything any more.
  } finally {
    cancel();
  }
}
