import { type Lease, LEASE_TTL_ANNOTATION, LEASES } from '@gantry/objects';
import { type Clock, ControlLoop, errorMessage, formatMicroTime, type Instant, type Random } from '@gantry/base';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import { createEventRecorder } from './event-writer.ts';
import type { Log } from './log.ts';

export interface LeaderRecordOptions {
  readonly client: ObjectClient;
  /** The component, which is also the Lease's name: `kube-scheduler`. */
  readonly component: string;
  /** Identifies this process of the component, which is the leader. */
  readonly identity: string;
  /** The time to live of the leader's lease in milliseconds, for an annotation of the Lease; without it there is none. */
  readonly leaseTtlMs?: () => number;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

const NAMESPACE = 'kube-system';
const RENEW_MS = 10_000;
const RETRY = { initialMs: 1000, maxMs: 1000 };
const LEASE_SECONDS = 15;

/**
 * Shows clients who leads: a Lease in `kube-system`, renewed until the signal is aborted, and an Event for each change of leader. For
 * information only: no decision depends on it.
 */
export async function keepLeaderRecord(options: LeaderRecordOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, random, log, component, identity } = options;
  const events = createEventRecorder({ client, component, clock, random, log });
  let recorded: 'no' | 'yes' = 'no';
  const loop = new ControlLoop({
    round: async () => {
      const lease = await writeLease(options, signal);
      if (recorded === 'no') events.event(lease, 'Normal', 'LeaderElection', `${identity} became leader`);
      recorded = 'yes';
    },
    intervalMs: RENEW_MS,
    retry: RETRY,
    onError: (error) => log.debug({ reason: errorMessage(error) }, 'the leader Lease was not written'),
    clock,
  });
  try {
    await loop.run(signal);
  } finally {
    events.close();
  }
}

async function writeLease(options: LeaderRecordOptions, signal: AbortSignal): Promise<Lease> {
  const { client, component } = options;
  const key = { namespace: NAMESPACE, name: component };
  const current = await ignoreNotFound(client.get(LEASES, key, signal));
  const ttlMs = options.leaseTtlMs?.();
  const annotations: Record<string, string> = ttlMs === undefined ? {} : { [LEASE_TTL_ANNOTATION]: String(ttlMs) };
  const spec = planLeaseSpec(current?.spec, options.identity, options.clock.now());
  if (current === undefined) {
    const object: Lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...key, annotations },
      spec,
    };
    return client.create(LEASES, object, signal);
  }
  const metadata = { ...current.metadata, annotations: { ...current.metadata.annotations, ...annotations } };
  const object: Lease = { ...current, metadata, spec };
  return client.update(LEASES, object, signal);
}

/** The Lease's spec while `identity` leads. */
export function planLeaseSpec(
  current: Lease['spec'],
  identity: string,
  now: Instant,
  seconds = LEASE_SECONDS,
): NonNullable<Lease['spec']> {
  const isSame = current?.holderIdentity === identity;
  const time = formatMicroTime(now);
  return {
    holderIdentity: identity,
    leaseDurationSeconds: seconds,
    acquireTime: isSame ? (current.acquireTime ?? time) : time,
    renewTime: time,
    leaseTransitions: (current?.leaseTransitions ?? 0) + (isSame || current === undefined ? 0 : 1),
  };
}
