import { type Clock, pause } from '@gantry/base';
import { type HttpClient, ignoreNotFound } from '@gantry/client';
import {
  CONFIG_MAPS,
  type ConfigMap,
  controllerOf,
  type Deployment,
  DEPLOYMENTS,
  type KubeObject,
  LEASES,
  type Pod,
  PODS,
  REPLICA_SETS,
  type Resource,
} from '@gantry/objects';
import { CommandError } from '../../machine/command-error.ts';
import { STORAGE_OWNER_KEY } from '../chaos-cluster.ts';
import { startLines } from '../recording/line-process.ts';
import { watchArguments } from '../recording/record-etcd.ts';
import { untilRight } from '../workloads/until-right.ts';
import { type ActContext, READY_MS, untilFound, type Watching, within } from './act.ts';
import { watchConnections, watchIngress, watchNewServices } from './answers.ts';
import type { ActName } from './cells.ts';

/** So many objects are made at most after the fault: each pod costs the nodes something. */
const MOST_CREATED = 8;
const SETTLE_MS = 300;
const WRITERS = 4;
const WRITE_EVERY_MS = 20;
const LOOKERS = 3;
const LOOK_EVERY_MS = 50;
const LOOK_MS = 1_000;
/** A container with etcdctl starts, and its watch is open. */
const WATCH_STARTS_MS = 5_000;
const IMAGE = 'registry.k8s.io/pause:3.10';

/** Starts to look before the fault is made. */
export const ACTS: Readonly<Record<ActName, (context: ActContext) => Promise<Watching>>> = {
  binding: (context) => watchCreated(context, BINDING),
  replicaset: (context) => watchCreated(context, REPLICA_SET),
  'pod-starts': (context) => watchCreated(context, podStarts(context.node)),
  writes: watchWrites,
  election: watchElection,
  holder: (context) => watchLease(context, hasAnotherHolder),
  renewal: (context) => watchLease(context, (now, _, struckAt) => now.holder !== '' && now.renewedAt > struckAt),
  successor: watchSuccessor,
  connections: watchConnections,
  'new-service': watchNewServices,
  ingress: watchIngress,
};

/** An object that a client makes, and what of it shows that the component works. */
interface Created {
  /** How often. */
  readonly everyMs: number;
  create(api: HttpClient, key: { readonly namespace: string; readonly name: string }): Promise<unknown>;
  readonly watched: Resource;
  /** The name of the object that the client made, if this one shows that it was acted on. */
  doneFor(object: KubeObject): string | undefined;
  readonly made: Resource;
}

const podObject = (key: { readonly namespace: string; readonly name: string }, nodeName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { ...key },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [{ name: 'main', image: IMAGE }],
    ...(nodeName === undefined ? {} : { nodeName }),
  },
});

const BINDING: Created = {
  everyMs: 200,
  create: (api, key) => api.create(PODS, podObject(key), within()),
  watched: PODS,
  doneFor: (object) => ((object as Pod).spec?.nodeName === undefined ? undefined : object.metadata.name),
  made: PODS,
};

const podStarts = (node: string): Created => ({
  everyMs: 300,
  create: (api, key) => api.create(PODS, podObject(key, node), within()),
  watched: PODS,
  doneFor: (object) => ((object as Pod).status?.phase === 'Running' ? object.metadata.name : undefined),
  made: PODS,
});

const REPLICA_SET: Created = {
  everyMs: 100,
  create: (api, key) => {
    const labels = { app: key.name };
    const spec: Deployment['spec'] = {
      replicas: 0,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: IMAGE }] } },
    };
    const object: Deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { ...key }, spec };
    return api.create(DEPLOYMENTS, object, within());
  },
  watched: REPLICA_SETS,
  doneFor: (object) => controllerOf(object)?.name,
  made: DEPLOYMENTS,
};

/** Makes an object now and then, and waits until one that was asked for after the fault is acted on. */
async function watchCreated(context: ActContext, kind: Created): Promise<Watching> {
  const { connect, clock, namespace, name, cell } = context;
  const { afterHandover: lease } = cell;
  const handover =
    lease === undefined ? undefined : await watchLease({ ...context, cell: { ...cell, lease } }, hasAnotherHolder);
  const api = connect();
  const stop = new AbortController();
  const askedAt = new Map<string, number>();
  const doneAt = new Map<string, number>();
  /** A node that is away for too long loses its pods, and those after them count. */
  const deleted = new Set<string>();
  let most = Infinity;
  const creating = (async () => {
    while (!stop.signal.aborted) {
      if (askedAt.size - deleted.size < most) {
        const key = { namespace, name: `${name}-${askedAt.size}` };
        askedAt.set(key.name, clock.now());
        await kind.create(api, key);
      }
      await pause(clock, kind.everyMs, stop.signal);
    }
  })();
  const watching = (async () => {
    for await (const batch of api.watch(kind.watched, { namespace, sendInitialEvents: true }, stop.signal)) {
      for (const event of batch) {
        if (event.type === 'BOOKMARK') continue;
        const { name: one = '' } = event.object.metadata;
        if (event.type === 'DELETED') {
          if (askedAt.has(one)) deleted.add(one);
          continue;
        }
        const done = kind.doneFor(event.object);
        if (done !== undefined && !doneAt.has(done)) doneAt.set(done, clock.now());
      }
    }
  })();
  const failed = Promise.all([creating, watching]).then(
    () => new Promise<never>(() => undefined),
    (error: unknown) => Promise.reject(error as Error),
  );
  failed.catch(() => undefined);
  await pause(clock, SETTLE_MS, stop.signal);
  return {
    seen: async (struckAt, signal) => {
      most = askedAt.size - deleted.size + MOST_CREATED;
      const sinceAt = handover === undefined ? struckAt : await Promise.race([failed, handover.seen(struckAt, signal)]);
      const find = () => {
        const asked = [...askedAt].filter(([, at]) => at >= struckAt);
        const done = asked.flatMap(([one]) => doneAt.get(one) ?? []).filter((at) => at >= sinceAt);
        return done.length === 0 ? undefined : Math.min(...done);
      };
      most = askedAt.size - deleted.size + MOST_CREATED;
      return await Promise.race([failed, untilFound(clock, signal, find)]);
    },
    end: async () => {
      stop.abort();
      await creating.catch(() => undefined);
      await watching.catch(() => undefined);
      await handover?.end();
      for (const one of askedAt.keys())
        await ignoreNotFound(api.delete(kind.made, { namespace, name: one }, { gracePeriodSeconds: 0 }, within()));
      api[Symbol.dispose]();
    },
  };
}

/**
 * Clients write all the time, each on its own connections. The act is done when each has an acknowledgement of a write that was sent after the
 * fault.
 */
async function watchWrites({ connect, clock, namespace, name }: ActContext): Promise<Watching> {
  const stop = new AbortController();
  const clients = Array.from({ length: WRITERS }, connect);
  /** Of each client: when a write was sent, and when it was acknowledged. */
  const writes = clients.map((): { readonly sentAt: number; readonly doneAt: number }[] => []);
  const keys = clients.map((_, index) => ({ namespace, name: `${name}-${index}` }));
  for (const [index, api] of clients.entries()) {
    const key = keys[index] ?? { namespace, name };
    const object: ConfigMap = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...key } };
    await api.create(CONFIG_MAPS, object, within());
  }
  const writing = clients.map(async (api, index) => {
    const key = keys[index] ?? { namespace, name };
    for (let turn = 0; !stop.signal.aborted; turn++) {
      const sentAt = clock.now();
      try {
        await api.patch(CONFIG_MAPS, key, { merge: { data: { turn: String(turn) } } }, within());
        writes[index]?.push({ sentAt, doneAt: clock.now() });
      } catch {
        // A standard client sends it again: the time until it is acknowledged is what is measured.
      }
      await pause(clock, WRITE_EVERY_MS, stop.signal);
    }
  });
  return {
    seen: async (struckAt, signal) => {
      const first = (of: readonly { readonly sentAt: number; readonly doneAt: number }[] | undefined) =>
        of?.find(({ sentAt }) => sentAt >= struckAt)?.doneAt;
      const all = await Promise.all(writes.map((of) => untilFound(clock, signal, () => first(of))));
      return Math.max(...all);
    },
    end: async () => {
      stop.abort();
      await Promise.all(writing);
      for (const [index, api] of clients.entries()) {
        await api.delete(CONFIG_MAPS, keys[index] ?? { namespace, name }, {}, within());
        api[Symbol.dispose]();
      }
    },
  };
}

/** The key that the storage owner holds in etcd: no object of the API shows it. */
async function watchElection({ engine, clock, name }: ActContext): Promise<Watching> {
  const { clusterId, etcd } = engine.options;
  const helper = `gantry-chaos-${clusterId}-${name}`;
  const stop = new AbortController();
  const electedAt: number[] = [];
  const target = { name: helper, member: etcd.members[0] ?? '', keys: [STORAGE_OWNER_KEY] };
  const { ended } = startLines('docker', watchArguments(engine, target), stop.signal, (line) => {
    const { Events: events } = JSON.parse(line) as {
      readonly Events?: readonly { readonly kv: { version?: number } }[];
    };
    // The first version of the key: a new term. Deletions have no version.
    if (events?.some(({ kv }) => kv.version === 1) === true) electedAt.push(clock.now());
  });
  await pause(clock, WATCH_STARTS_MS, stop.signal);
  return {
    seen: (struckAt, signal) =>
      Promise.race([
        untilFound(clock, signal, () => electedAt.find((at) => at >= struckAt)),
        ended.then((said) => Promise.reject(new CommandError(`the watch of etcd has ended: ${said}`))),
      ]),
    end: async () => {
      stop.abort();
      await ended;
      await engine.options.shell.run('docker', ['rm', '-f', helper]);
    },
  };
}

interface Held {
  readonly holder: string;
  readonly renewedAt: number;
}

const hasAnotherHolder = (now: Held, before: Held) => now.holder !== '' && now.holder !== before.holder;

/** Reads a Lease of kube-system again and again, by several clients: one API server may be the one that is struck. */
async function watchLease(
  { connect, clock, cell }: ActContext,
  isDone: (now: Held, before: Held, struckAt: number) => boolean,
): Promise<Watching> {
  const stop = new AbortController();
  const clients = Array.from({ length: LOOKERS }, connect);
  const read = async (api: HttpClient): Promise<Held> => {
    const { items } = await api.list(LEASES, { namespace: 'kube-system' }, AbortSignal.timeout(LOOK_MS));
    const found = items.find(({ metadata }) => metadata.name?.startsWith(cell.lease ?? '') === true);
    if (found === undefined) throw new CommandError(`kube-system has no Lease ${cell.lease}`);
    return { holder: found.spec?.holderIdentity ?? '', renewedAt: Date.parse(found.spec?.renewTime ?? '') };
  };
  const [first] = clients;
  if (first === undefined) throw new CommandError('no client');
  const before = await read(first);
  const look = async (api: HttpClient, struckAt: number, signal: AbortSignal): Promise<number> => {
    for (;;) {
      signal.throwIfAborted();
      // No response: the other clients look on.
      const now = await read(api).catch(() => undefined);
      if (now !== undefined && isDone(now, before, struckAt)) return clock.now();
      await pause(clock, LOOK_EVERY_MS, signal);
    }
  };
  return {
    seen: async (struckAt, signal) => {
      const either = AbortSignal.any([signal, stop.signal]);
      return await Promise.any(clients.map((api) => look(api, struckAt, either)));
    },
    end: async () => {
      stop.abort();
      for (const api of clients) api[Symbol.dispose]();
      await Promise.resolve();
    },
  };
}

const isReady = ({ status, metadata }: Pod) =>
  metadata.deletionTimestamp === undefined &&
  status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;

/** A Deployment whose pod prefers the node: until another pod of it is Ready. */
async function watchSuccessor({ connect, clock, namespace, name, node }: ActContext): Promise<Watching> {
  const api = connect();
  const key = { namespace, name };
  const labelSelector = `app=${name}`;
  await api.create(DEPLOYMENTS, preferring(key, node), within());
  const pod = await untilRunning({ api, clock, namespace, labelSelector, node });
  return {
    seen: async (_, signal) => {
      for await (const batch of api.watch(PODS, { namespace, labelSelector, sendInitialEvents: true }, signal)) {
        for (const event of batch) {
          if (event.type === 'BOOKMARK' || event.type === 'DELETED') continue;
          if (event.object.metadata.uid !== pod.metadata.uid && isReady(event.object)) return clock.now();
        }
      }
      throw new CommandError('the watch of pods ended early');
    },
    end: async () => {
      await api.delete(DEPLOYMENTS, key, {}, within());
      api[Symbol.dispose]();
    },
  };
}

interface Awaited {
  readonly api: HttpClient;
  readonly clock: Clock;
  readonly namespace: string;
  readonly labelSelector: string;
  readonly node: string;
}

/** The pod when it is Ready on the node. One that went elsewhere is deleted: the node may have been away until now. */
async function untilRunning({ api, clock, namespace, labelSelector, node }: Awaited): Promise<Pod> {
  let found: Pod | undefined;
  const wrong = await untilRight(
    clock,
    async (signal) => {
      const { items } = await api.list(PODS, { namespace, labelSelector }, signal);
      found = items.find((pod) => isReady(pod) && pod.spec?.nodeName === node);
      if (found !== undefined) return [];
      for (const { metadata } of items.filter((pod) => isReady(pod))) {
        await api.delete(PODS, { namespace, name: metadata.name ?? '' }, { gracePeriodSeconds: 0 }, signal);
      }
      return [`no pod of ${labelSelector} is Ready on ${node}`];
    },
    { limitMs: READY_MS },
  );
  if (found === undefined) throw new CommandError(wrong.join());
  return found;
}

function preferring(key: { readonly namespace: string; readonly name: string }, node: string): Deployment {
  const labels = { app: key.name };
  const matchExpressions = [{ key: 'kubernetes.io/hostname', operator: 'In', values: [node] }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { ...key },
    spec: {
      replicas: 1,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          terminationGracePeriodSeconds: 0,
          affinity: {
            nodeAffinity: {
              preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, preference: { matchExpressions } }],
            },
          },
          containers: [{ name: 'main', image: IMAGE }],
        },
      },
    },
  };
}
