import { AppsV1Api, type V1Pod, type V1PodSpec, type V1ResourceQuota } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { refusal, retryOnConflict } from './outcome.ts';
import { Resource } from './resource.ts';
import { container, pod, replicaSet, replicationController } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const COUNTED_MS = 180_000;
const QUOTA = '[sig-api-machinery] ResourceQuota should';
const EXTENDED = 'example.com/dongle';
const COMPUTE = { cpu: '500m', memory: '252Mi', 'ephemeral-storage': '30Gi', [EXTENDED]: '2' };

const HARD: Readonly<Record<string, string>> = {
  pods: '5',
  services: '10',
  'services.nodeports': '1',
  'services.loadbalancers': '1',
  replicationcontrollers: '10',
  resourcequotas: '1',
  cpu: '1',
  memory: '500Mi',
  configmaps: '10',
  secrets: '10',
  'ephemeral-storage': '50Gi',
  [`requests.${EXTENDED}`]: '3',
  'count/replicasets.apps': '5',
};

type Used = Readonly<Record<string, string>>;

/** One namespace with quotas, and what they count. */
class Counting {
  readonly world: World;
  readonly namespace: string;
  readonly quotas: Resource<V1ResourceQuota>;

  private constructor(world: World, namespace: string) {
    this.world = world;
    this.namespace = namespace;
    this.quotas = new Resource(world.cluster, KINDS.ResourceQuota, namespace);
  }

  static async open(world: World): Promise<Counting> {
    return new Counting(world, await world.namespace());
  }

  async limit(name: string, hard: Used, scopes?: string[]): Promise<void> {
    await this.quotas.create({ metadata: { name }, spec: { hard: { ...hard }, ...(scopes ? { scopes } : {}) } });
  }

  async untilUsed(name: string, used: Used): Promise<void> {
    await eventually(`${name} counts ${JSON.stringify(used)}`, COUNTED_MS, async () => {
      expect((await this.quotas.get(name)).status?.used).toMatchObject(used);
      return true;
    });
  }

  createPod(name: string, spec: Partial<V1PodSpec>): Promise<V1Pod> {
    return this.world.core.createNamespacedPod({ namespace: this.namespace, body: pod(name, spec) });
  }

  deletePod(name: string): Promise<unknown> {
    return this.world.core.deleteNamespacedPod({ namespace: this.namespace, name, gracePeriodSeconds: 0 });
  }
}

const asking = (requests: Used, limits: Used = {}): Partial<V1PodSpec> => ({
  containers: [container({ resources: { requests: { ...requests }, limits: { ...limits } } })],
});

interface Life {
  readonly of: string;
  readonly create: (counting: Counting) => Promise<unknown>;
  readonly delete: (counting: Counting) => Promise<unknown>;
  readonly counted: Used;
  readonly none: Used;
}

const name = 'counted';

/** An object is counted when it is there and no longer when it is gone. */
const LIVES: readonly Life[] = [
  {
    of: 'secret',
    create: ({ world, namespace }) =>
      world.core.createNamespacedSecret({ namespace, body: { metadata: { name }, data: {} } }),
    delete: ({ world, namespace }) => world.core.deleteNamespacedSecret({ namespace, name }),
    counted: { secrets: '1' },
    none: { secrets: '0' },
  },
  {
    of: 'configMap',
    create: ({ world, namespace }) =>
      world.core.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: {} } }),
    delete: ({ world, namespace }) => world.core.deleteNamespacedConfigMap({ namespace, name }),
    // Beside the root CA that every namespace has.
    counted: { configmaps: '2' },
    none: { configmaps: '1' },
  },
  {
    of: 'replication controller',
    create: ({ world, namespace }) =>
      world.core.createNamespacedReplicationController({ namespace, body: replicationController(name, 0) }),
    delete: ({ world, namespace }) => world.core.deleteNamespacedReplicationController({ namespace, name }),
    counted: { replicationcontrollers: '1' },
    none: { replicationcontrollers: '0' },
  },
  {
    of: 'replica set',
    create: ({ world, namespace }) =>
      world.api(AppsV1Api).createNamespacedReplicaSet({ namespace, body: replicaSet(name, 0) }),
    delete: ({ world, namespace }) => world.api(AppsV1Api).deleteNamespacedReplicaSet({ namespace, name }),
    counted: { 'count/replicasets.apps': '1' },
    none: { 'count/replicasets.apps': '0' },
  },
  {
    of: 'service',
    create: async ({ world, namespace }) => {
      const ports = [{ port: 80, targetPort: 80 }];
      const service = (type: string) => ({
        metadata: { name: `${name}-${type.toLowerCase()}` },
        spec: { type, ports },
      });
      await world.core.createNamespacedService({ namespace, body: service('ClusterIP') });
      await world.core.createNamespacedService({ namespace, body: service('NodePort') });
      // It would need a second node port.
      const refused = await refusal(world.core.createNamespacedService({ namespace, body: service('LoadBalancer') }));
      expect(refused.code).toBe(403);
    },
    delete: async ({ world, namespace }) => {
      for (const type of ['clusterip', 'nodeport'])
        await world.core.deleteNamespacedService({ namespace, name: `${name}-${type}` });
    },
    counted: { services: '2', 'services.nodeports': '1' },
    none: { services: '0', 'services.nodeports': '0' },
  },
  {
    of: 'pod',
    create: async (counting) => {
      await counting.createPod(name, asking(COMPUTE, { [EXTENDED]: '2' }));
      const tooMuch = asking({ cpu: '600m', memory: '100Mi' });
      expect((await refusal(counting.createPod('fail', tooMuch))).code).toBe(403);
      const tooMany = asking({ ...COMPUTE, memory: '100Mi' }, { [EXTENDED]: '2' });
      expect((await refusal(counting.createPod('fail-extended', tooMany))).code).toBe(403);
      // What it asks for may not change either.
      const { world, namespace } = counting;
      const found = await world.core.readNamespacedPod({ namespace, name });
      for (const one of found.spec?.containers ?? []) one.resources = { requests: { cpu: '100m', memory: '100Mi' } };
      await refusal(world.core.replaceNamespacedPod({ namespace, name, body: found }));
    },
    delete: (counting) => counting.deletePod(name),
    counted: { pods: '1', cpu: '500m', memory: '252Mi', 'ephemeral-storage': '30Gi', [`requests.${EXTENDED}`]: '2' },
    none: { pods: '0', cpu: '0', memory: '0', 'ephemeral-storage': '0', [`requests.${EXTENDED}`]: '0' },
  },
];

const SCOPED = {
  pods: '5',
  'requests.cpu': '1',
  'requests.memory': '500Mi',
  'limits.cpu': '2',
  'limits.memory': '1Gi',
};
const RUNNING = {
  pods: '1',
  'requests.cpu': '500m',
  'requests.memory': '200Mi',
  'limits.cpu': '1',
  'limits.memory': '400Mi',
};
const IDLE = { pods: '0', 'requests.cpu': '0', 'requests.memory': '0', 'limits.cpu': '0', 'limits.memory': '0' };
const BOUNDED = asking({ cpu: '500m', memory: '200Mi' }, { cpu: '1', memory: '400Mi' });

/** Pods of two sorts, each counted by the quota of its scope and by the other not at all. */
async function expectScoped(
  world: World,
  hard: Used,
  [one, other]: readonly [scope: string, scope: string],
  pods: Readonly<Record<string, { spec: Partial<V1PodSpec>; counted: Used }>>,
  none: Used,
): Promise<void> {
  const counting = await Counting.open(world);
  for (const scope of [one, other]) {
    await counting.limit(scope.toLowerCase(), hard, [scope]);
    await counting.untilUsed(scope.toLowerCase(), { pods: '0' });
  }
  for (const [scope, { spec, counted }] of Object.entries(pods)) {
    const second = scope === one ? other : one;
    await counting.createPod(name, spec);
    await counting.untilUsed(scope.toLowerCase(), counted);
    await counting.untilUsed(second.toLowerCase(), none);
    await counting.deletePod(name);
    await counting.untilUsed(scope.toLowerCase(), none);
  }
}

export const QUOTA_PROOFS: readonly Proof[] = [
  proof(
    `${QUOTA} create a ResourceQuota and ensure its status is promptly calculated. [Conformance]`,
    async (world) => {
      const counting = await Counting.open(world);
      await counting.limit('test-quota', HARD);
      await counting.untilUsed('test-quota', { resourcequotas: '1' });
    },
  ),

  ...LIVES.map((life) =>
    proof(`${QUOTA} create a ResourceQuota and capture the life of a ${life.of}. [Conformance]`, async (world) => {
      const counting = await Counting.open(world);
      await counting.limit('test-quota', HARD);
      await counting.untilUsed('test-quota', { resourcequotas: '1', ...life.none });
      await life.create(counting);
      await counting.untilUsed('test-quota', life.counted);
      await life.delete(counting);
      await counting.untilUsed('test-quota', life.none);
    }),
  ),

  proof(`${QUOTA} verify ResourceQuota with terminating scopes. [Conformance]`, (world) =>
    expectScoped(
      world,
      SCOPED,
      ['Terminating', 'NotTerminating'],
      {
        NotTerminating: { spec: BOUNDED, counted: RUNNING },
        Terminating: { spec: { ...BOUNDED, activeDeadlineSeconds: 3600 }, counted: RUNNING },
      },
      IDLE,
    ),
  ),

  proof(`${QUOTA} verify ResourceQuota with best effort scope. [Conformance]`, (world) =>
    expectScoped(
      world,
      { pods: '5' },
      ['BestEffort', 'NotBestEffort'],
      {
        BestEffort: { spec: {}, counted: { pods: '1' } },
        NotBestEffort: { spec: BOUNDED, counted: { pods: '1' } },
      },
      { pods: '0' },
    ),
  ),

  proof(`${QUOTA} apply changes to a resourcequota status [Conformance]`, async (world) => {
    const { quotas } = await Counting.open(world);
    const quota = world.unique('status');
    using watch = await quotas.watch({ resourceVersion: (await quotas.list()).metadata?.resourceVersion ?? '' });
    const hard = { cpu: '500m', memory: '500Mi' };
    await quotas.create({ metadata: { name: quota }, spec: { hard } });
    await retryOnConflict(async () => quotas.replace({ ...(await quotas.get(quota)), status: { hard } }, 'status'));
    const hasHard = (wanted: Used) => (event: { object: V1ResourceQuota }) =>
      JSON.stringify(event.object.status?.hard) === JSON.stringify(wanted);
    await watch.until('its status', hasHard(hard));
    const more = { cpu: '1', memory: '1Gi' };
    await quotas.patch(quota, 'strategic', { spec: { hard: more } });
    await quotas.patch(quota, 'strategic', { status: { hard: more } }, 'status');
    await watch.until('its patched status', hasHard(more));
    expect((await quotas.get(quota, 'status')).status?.hard).toEqual(more);
    const most = { cpu: '2', memory: '2Gi' };
    const repatched = await quotas.patch(quota, 'strategic', { status: { hard: most } }, 'status');
    expect(repatched.status?.hard).toEqual(most);
    await watch.until('its wrong status', hasHard(most));
    // The controller takes back what the spec does not say.
    await eventually('its status is what its spec says', COUNTED_MS, async () => {
      const found = await quotas.get(quota);
      return hasHard(more)({ object: found });
    });
  }),
];
