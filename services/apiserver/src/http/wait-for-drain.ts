import type { Clock } from '@gantry/base';
import type { Exchange } from './exchange.ts';

/** How long a client may leave its window full before it is cut off. A watch resumes from what it has. */
const STALLED_MS = 30_000;

/** Resolves when the client has read what was written, has gone, or is given up on; cuts it off when it takes too long. */
export function waitForDrain({ res, signal }: Exchange, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      cancel();
      res.off('drain', settle);
      res.off('close', settle);
      signal.removeEventListener('abort', settle);
      resolve();
    };
    const cancel = clock.setTimer(STALLED_MS, () => {
      res.destroy();
      settle();
    });
    res.on('drain', settle);
    res.on('close', settle);
    signal.addEventListener('abort', settle, { once: true });
  });
}
