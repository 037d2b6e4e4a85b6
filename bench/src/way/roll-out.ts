import { setTimeout as delay } from 'node:timers/promises';
import { raceAbort } from '@gantry/base';
import type { HttpClient } from '@gantry/client';
import { type Affinity, type Deployment, DEPLOYMENTS, EVENTS, NODES, type Pod, PODS } from '@gantry/objects';
import { counted, countWrites } from '../api-writes.ts';
import { deadline } from '../cluster.ts';
import { isHollow } from '../hollow.ts';

/** Replicas of a Deployment at most. */
const REPLICAS = 250;
const LONGEST_MS = 1_800_000;
const POLL_MS = 500;

/** How pods of Deployments have come to run. */
interface RollOut {
  /** When the last pod reached each stage, in milliseconds after the first Deployment was sent. */
  readonly lastAtMs: Readonly<Record<'created' | 'scheduled' | 'running', number>>;
  /** Versions of all pods until then, and written Events. */
  readonly versions: number;
  readonly events: number;
}

/** Creates Deployments with so many pods, and waits until all of them run on hollow nodes. */
export async function rollOut(api: HttpClient, namespace: string, pods: number): Promise<RollOut> {
  const affinity = await hollowAffinity(api);
  const reached = new Map<string, number>();
  const counts = [0, 0, 0];
  const lastAt = [0, 0, 0];
  const done = Promise.withResolvers<void>();
  const onPod = ({ metadata: { name = '' }, spec, status }: Pod): string => {
    const from = reached.get(name) ?? 0;
    const to = spec?.nodeName === undefined ? 1 : status?.phase === 'Running' ? 3 : 2;
    for (let stage = from; stage < to; stage++) {
      counts[stage] = (counts[stage] ?? 0) + 1;
      lastAt[stage] = performance.now();
    }
    reached.set(name, Math.max(from, to));
    if (counts[2] === pods) done.resolve();
    return PODS.resource;
  };
  const writes = countWrites(api, [counted(PODS, onPod, namespace), counted(EVENTS, () => EVENTS.resource, namespace)]);
  const late = AbortSignal.timeout(LONGEST_MS);
  try {
    await writes.synced;
    const startedAt = performance.now();
    for (let made = 0; made < pods; made += REPLICAS) {
      const object = deployment(`d${made / REPLICAS}`, namespace, Math.min(REPLICAS, pods - made), affinity);
      await api.create(DEPLOYMENTS, object, deadline());
    }
    await raceAbort(Promise.race([done.promise, writes.ended]), late);
    const [created = 0, scheduled = 0, running = 0] = lastAt.map((at) => at - startedAt);
    const { counts: written } = writes;
    return {
      lastAtMs: { created, scheduled, running },
      versions: written.get(PODS.resource) ?? 0,
      events: written.get(EVENTS.resource) ?? 0,
    };
  } finally {
    await writes.stop();
  }
}

/** Deletes the Deployments of a namespace, and waits until it has no pod any more. */
export async function rollBack(api: HttpClient, namespace: string): Promise<void> {
  const { items } = await api.list(DEPLOYMENTS, { namespace }, deadline());
  for (const { metadata } of items)
    await api.delete(DEPLOYMENTS, { namespace, name: metadata.name ?? '' }, {}, deadline());
  const end = deadline(LONGEST_MS);
  while ((await api.list(PODS, { namespace, limit: 1, metadataOnly: true }, end)).items.length > 0)
    await delay(POLL_MS, undefined, { signal: end });
}

/** Keeps pods from the nodes that would start containers; undefined where there are none. */
async function hollowAffinity(api: HttpClient): Promise<Affinity | undefined> {
  const { items } = await api.list(NODES, { metadataOnly: true }, deadline());
  const others = items.filter((node) => !isHollow(node)).map(({ metadata }) => metadata.name ?? '');
  if (others.length === 0) return undefined;
  const hostname = { key: 'kubernetes.io/hostname', operator: 'NotIn', values: others };
  const terms = { nodeSelectorTerms: [{ matchExpressions: [hostname] }] };
  return { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
}

function deployment(name: string, namespace: string, replicas: number, affinity: Affinity | undefined): Deployment {
  const labels = { app: name };
  const resources = { requests: { cpu: '1m', memory: '1Mi' } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          ...(affinity === undefined ? {} : { affinity }),
          automountServiceAccountToken: false,
          terminationGracePeriodSeconds: 1,
          tolerations: [{ operator: 'Exists' }],
          containers: [{ name: 'main', image: 'example.test/app:1', resources }],
        },
      },
    },
  };
}
