import { isDeepStrictEqual } from 'node:util';
import { type Controller, DEPLOYMENTS, ignoreNotFound, watchSelf, withCondition } from '@gantry/operator';
import { QUEUE_SCALERS, type QueueScaler } from './queue-scaler.ts';

/** Resolves with the length of the queue, or with why it is unknown. */
export type ReadLength = (spec: QueueScaler['spec'], signal: AbortSignal) => Promise<number | string>;

/** More replicas at once, but fewer only when fewer have been enough for the whole `cooldownPeriod`, since `lowerSince`. */
export function decide({ spec, status }: QueueScaler, length: number, replicas: number, now: number) {
  const wanted = Math.min(Math.max(Math.ceil(length / spec.listLength), spec.minReplicaCount), spec.maxReplicaCount);
  if (wanted >= replicas) return { replicas: wanted };
  const lowerSince = status?.lowerSince ?? new Date(now).toISOString();
  return now - Date.parse(lowerSince) < spec.cooldownPeriod * 1000 ? { replicas, lowerSince } : { replicas: wanted };
}

/** Scales the Deployment of each QueueScaler. While the length is unknown, the replicas stay. */
export const queueAutoscaler = (readLength: ReadLength): Controller => ({
  name: 'queue-autoscaler',
  watches: [watchSelf(QUEUE_SCALERS, (scaler, old) => scaler.metadata.generation !== old.metadata.generation)],
  reconcile: async (key, { cache, client, clock, log }, signal) => {
    const scaler = cache.get(QUEUE_SCALERS, key);
    if (scaler === undefined || scaler.metadata.deletionTimestamp !== undefined) return {};
    const { scaleTargetRef, listName, pollingInterval } = scaler.spec;
    const target = { ...key, name: scaleTargetRef.name };
    const deployment = await ignoreNotFound(client.get(DEPLOYMENTS, target, signal));
    const length = deployment === undefined ? 'the Deployment does not exist' : await readLength(scaler.spec, signal);
    const isKnown = typeof length === 'number';
    const replicas = deployment?.spec?.replicas ?? 1;
    const { replicas: wanted, ...since } = isKnown ? decide(scaler, length, replicas, clock.now()) : { replicas };
    if (wanted !== replicas) {
      await client.patch(DEPLOYMENTS, target, { merge: { spec: { replicas: wanted } }, subresource: 'scale' }, signal);
      log.info({ deployment: target.name, length, from: replicas, to: wanted }, 'scaled');
    }
    const message = isKnown ? `Scales ${target.name} by ${listName}` : `Cannot scale ${target.name}: ${length}`;
    const [state, reason] = isKnown ? (['True', 'Scaling'] as const) : (['False', 'LengthUnknown'] as const);
    const ready = { type: 'Ready', status: state, reason, message };
    const status = { ...since, conditions: withCondition(scaler.status?.conditions, ready, clock.now()) };
    if (!isDeepStrictEqual(status, scaler.status)) {
      await client.updateStatus(QUEUE_SCALERS, { ...scaler, status }, signal);
    }
    return { requeueAfterMs: pollingInterval * 1000 };
  },
});
