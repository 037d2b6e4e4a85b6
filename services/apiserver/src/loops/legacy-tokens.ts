import { type Clock, ControlLoop, errorMessage, formatDay, type Instant, parseDay } from '@gantry/base';
import {
  type ConfigMap,
  NAMESPACES,
  type Secret,
  SECRETS,
  TOKEN_LAST_USED_LABEL,
  TOKEN_TRACKING,
} from '@gantry/objects';
import type { GroupMember, Logger } from '@gantry/service';
import { isRecent, type LegacyTokenUses } from '../auth/authn/legacy-tokens.ts';
import { objectKey, type WatchCache } from '../cache/index.ts';
import { ensureStandingObjects } from './bootstrap/bootstrap.ts';
import type { StandingObject } from './bootstrap/standing-objects.ts';
import type { LoopbackClient } from '../loopback-client.ts';

const INTERVAL_MS = 60_000;
const RETRY = { initialMs: 1000, maxMs: 300_000 };

export interface LegacyTokenOptions {
  readonly uses: LegacyTokenUses;
  readonly client: LoopbackClient;
  readonly cache: WatchCache;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Records the use of legacy tokens, as in Kubernetes. A label of the Secret has the day of the last use. A ConfigMap has the day on which
 * the recording began. Secrets are written sequentially, each at most once a day. Several apiservers may do it at the same time.
 */
export function legacyTokenTracking({
  uses,
  client,
  cache,
  clock,
  logger,
}: LegacyTokenOptions): readonly GroupMember[] {
  const isThere = (): boolean =>
    cache.resource(NAMESPACES).get(objectKey(NAMESPACES, '', TOKEN_TRACKING.namespace)) !== undefined;
  return [
    new ControlLoop({
      name: 'legacy-token-tracking',
      clock,
      intervalMs: INTERVAL_MS,
      retry: RETRY,
      // At the first start of a cluster, the namespace may not exist yet. The bootstrap loop creates it.
      subscribe: (notify) => {
        let wasThere = isThere();
        const look = () => {
          const before = wasThere;
          wasThere = isThere();
          if (wasThere && !before) notify();
        };
        return [cache.resource(NAMESPACES).observe(look)];
      },
      round: async (signal) => {
        await cache.whenReady(signal);
        if (isThere()) await ensureStandingObjects(client, [trackingSince(clock.now())], signal);
      },
      onError: (error) =>
        logger.warn({ reason: errorMessage(error) }, 'the ConfigMap of token tracking is missing, retrying'),
    }),
    new ControlLoop({
      name: 'legacy-token-uses',
      clock,
      retry: RETRY,
      subscribe: (notify) => [uses.observe(notify)],
      round: async (signal) => {
        await cache.whenReady(signal);
        await writeLastUses(uses, client, clock, signal);
      },
      onError: (error) =>
        logger.warn({ reason: errorMessage(error) }, 'cannot write the last use of a token, retrying'),
    }),
  ];
}

/** Writes all pending Secrets. A failure of one does not stop the others. Throws the first failure at the end. */
async function writeLastUses(
  uses: LegacyTokenUses,
  client: LoopbackClient,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const failures: unknown[] = [];
  for (const used of uses.unwritten()) {
    try {
      await writeLastUse(used, client, clock, signal);
      uses.settle(used);
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}

/** Writes the last use of one Secret. Skips a Secret that is gone or that another apiserver has written; the next use tries again. */
async function writeLastUse(used: Secret, client: LoopbackClient, clock: Clock, signal: AbortSignal): Promise<void> {
  const secret = await client.get(SECRETS, used.metadata, 'cached', signal);
  const now = clock.now();
  if (secret === undefined || secret.metadata.uid !== used.metadata.uid || isRecent(secret, now)) return;
  const labels = { ...secret.metadata.labels, [TOKEN_LAST_USED_LABEL]: formatDay(now) };
  await client.update(SECRETS, { ...secret, metadata: { ...secret.metadata, labels } }, '', signal);
}

/** The ConfigMap with the day on which the recording began. An invalid day is replaced by today. */
export function trackingSince(now: Instant): StandingObject {
  const data = { since: formatDay(now) };
  return {
    group: '',
    resource: 'configmaps',
    object: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...TOKEN_TRACKING }, data } as ConfigMap,
    corrected: (stored) => {
      const found = stored as ConfigMap;
      if (parseDay(found.data?.['since'] ?? '') !== undefined) return undefined;
      return { ...found, data: { ...found.data, ...data } } as ConfigMap;
    },
  };
}
