import { SchedulingV1Api, type V1Pod, type V1PriorityClass, type V1RuntimeClass } from '@kubernetes/client-node';
import { expect } from 'vitest';
import { eventually } from '../harness/eventually.ts';
import { KINDS } from './kinds.ts';
import { expectInvalid, expectNewer } from './outcome.ts';
import { Resource } from './resource.ts';
import { container, pod } from './workloads.ts';
import { type Proof, proof, type World } from './world.ts';

const SCHEDULED_MS = 180_000;
const RUNTIME_CLASS = '[sig-node] RuntimeClass should schedule a Pod requesting a RuntimeClass';

const nameOf = (object: { metadata?: { name?: string } }) => object.metadata?.name ?? '';

/** A pod of a runtime class when it has a node; it need not run, since no node has the class's handler. */
async function scheduledOfClass(world: World, overhead: V1RuntimeClass['overhead']): Promise<V1Pod> {
  const namespace = await world.namespace();
  const classes = new Resource<V1RuntimeClass>(world.cluster, KINDS.RuntimeClass);
  const name = `${namespace}-preconfigured-handler`;
  world.atEnd(() => classes.delete(name));
  await classes.create({
    metadata: { name },
    handler: 'test-handler',
    ...(overhead === undefined ? {} : { overhead }),
  });
  const { spec } = pod('', {
    runtimeClassName: name,
    containers: [container({ name: 'test', command: ['true'] })],
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
  });
  const body = { metadata: { generateName: `test-runtimeclass-${name}-` }, ...(spec === undefined ? {} : { spec }) };
  const made = await world.core.createNamespacedPod({ namespace, body });
  return await eventually('the pod has a node', SCHEDULED_MS, async () => {
    const { items } = await world.core.listNamespacedPod({ namespace });
    expect(items.map(nameOf)).toEqual([nameOf(made)]);
    return items.find(({ spec }) => (spec?.nodeName ?? '') !== '');
  });
}

export const SCHEDULING_PROOFS: readonly Proof[] = [
  proof(
    '[sig-architecture] Conformance Tests should have at least two untainted nodes [Conformance]',
    async (world) => {
      await eventually('two nodes take any pod', SCHEDULED_MS, async () => {
        const { items } = await world.core.listNode();
        const untainted = items.filter(
          ({ spec, status }) =>
            spec?.unschedulable !== true &&
            !(spec?.taints ?? []).some(({ effect }) => effect === 'NoSchedule' || effect === 'NoExecute') &&
            (status?.conditions ?? []).some((one) => one.type === 'Ready' && one.status === 'True'),
        );
        return untainted.length >= 2;
      });
    },
  ),

  proof(
    '[sig-scheduling] SchedulerPredicates [Serial] validates that NodeSelector is respected if not matching [Conformance]',
    async (world) => {
      const namespace = await world.namespace();
      const nodeSelector = { label: 'nonempty' };
      await world.core.createNamespacedPod({ namespace, body: pod('restricted', { nodeSelector }) });
      await eventually('the scheduler finds no node', SCHEDULED_MS, async () => {
        const found = await world.core.readNamespacedPod({ namespace, name: 'restricted' });
        expect(found.spec?.nodeName).toBeUndefined();
        return (found.status?.conditions ?? []).some(
          ({ type, status, reason }) => type === 'PodScheduled' && status === 'False' && reason === 'Unschedulable',
        );
      });
    },
  ),

  proof(
    '[sig-scheduling] SchedulerPreemption [Serial] PriorityClass endpoints verify PriorityClass endpoints can be operated with different HTTP methods [Conformance]',
    async (world) => {
      const classes = new Resource<V1PriorityClass>(world.cluster, KINDS.PriorityClass);
      const names = [world.unique('p1'), world.unique('p2')];
      for (const name of names) world.atEnd(() => classes.delete(name));
      const made = await Promise.all(
        names.map((name, index) => classes.create({ metadata: { name }, value: index + 1, preemptionPolicy: 'Never' })),
      );
      const description = 'updated description';
      for (const one of made) {
        await expectInvalid(classes.patch(nameOf(one), 'strategic', { value: 1000 }));
        await expectInvalid(classes.replace({ ...one, value: 1000 }));
      }
      const [first, second] = made;
      if (first === undefined || second === undefined) throw new Error('two classes');
      await classes.patch(nameOf(first), 'strategic', { description });
      await classes.replace({ ...second, description });
      const { items } = await world.api(SchedulingV1Api).listPriorityClass();
      expect(items.map(nameOf)).toEqual(expect.arrayContaining(names));
      for (const one of made) {
        const live = await classes.get(nameOf(one));
        expect(live).toMatchObject({ value: one.value, description });
        expectNewer(live, one);
      }
    },
  ),

  proof(`${RUNTIME_CLASS} without PodOverhead [NodeConformance] [Conformance]`, async (world) => {
    const { spec } = await scheduledOfClass(world, undefined);
    expect(spec?.overhead ?? {}).toEqual({});
  }),

  proof(`${RUNTIME_CLASS} and initialize its Overhead [NodeConformance] [Conformance]`, async (world) => {
    const podFixed = { cpu: '10m', memory: '1Mi' };
    const { spec } = await scheduledOfClass(world, { podFixed });
    expect(spec?.overhead).toEqual(podFixed);
  }),
];
