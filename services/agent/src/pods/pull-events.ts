import type { Clock } from '@gantry/base';
import type { PullProgress } from '../runtime/images.ts';
import type { PullSecretsContext } from './pull-secrets.ts';

const EVERY_MS = 10_000;
const STEP_PERCENT = 25;

/**
 * Records how far a pull is, as Events of the pod: at most one for each quarter, not before ten seconds have passed since the one before.
 * So a pull has at most three, and a short one none. The kubelet has no such Events.
 */
export function pullEvents(
  image: string,
  record: PullSecretsContext['record'],
  clock: Pick<Clock, 'monotonicMs'>,
): (progress: PullProgress) => void {
  let reached = 0;
  let lastMs = clock.monotonicMs();
  return ({ bytes, totalBytes }) => {
    const percent = Math.floor((bytes * 100) / totalBytes / STEP_PERCENT) * STEP_PERCENT;
    if (percent <= reached || percent >= 100 || clock.monotonicMs() - lastMs < EVERY_MS) return;
    reached = percent;
    lastMs = clock.monotonicMs();
    record('Normal', 'Pulling', `Pulling image "${image}": ${percent}% of the ${totalBytes} bytes known so far`);
  };
}
