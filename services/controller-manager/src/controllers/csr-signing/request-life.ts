import type { Instant } from '@gantry/base';
import type { CertificateSigningRequest } from '@gantry/objects';

const HOUR_MS = 3_600_000;
/** How long a request is kept after it was issued, denied or failed, and how long a pending one is kept. */
const ANSWERED_LIFE_MS = HOUR_MS;
const PENDING_LIFE_MS = 24 * HOUR_MS;

/**
 * When a request is deleted. The time counts from the last decision, not from creation, so that a client that waited long for approval has
 * time to fetch the certificate. Undefined while none of its conditions decides it.
 */
export function endOf({ metadata, status = {} }: CertificateSigningRequest): Instant | undefined {
  const createdAt = Date.parse(metadata.creationTimestamp ?? '');
  const { conditions = [], certificate = '' } = status;
  if (conditions.length === 0) return createdAt + PENDING_LIFE_MS;
  const lives = new Map([
    ['Approved', certificate === '' ? PENDING_LIFE_MS : ANSWERED_LIFE_MS],
    ['Denied', ANSWERED_LIFE_MS],
    ['Failed', ANSWERED_LIFE_MS],
  ]);
  const ends = conditions.flatMap(({ type, lastUpdateTime }) => {
    const life = lives.get(type);
    return life === undefined ? [] : [(lastUpdateTime === undefined ? createdAt : Date.parse(lastUpdateTime)) + life];
  });
  return ends.length === 0 ? undefined : Math.min(...ends);
}
