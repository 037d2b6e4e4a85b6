import { type Node, NODES, type Pod, type PodSpec, type PodStatus, PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { Evictions } from '../eviction/evictions.ts';
import { container, ENGINE, nodeOf, pod, podState, sandbox } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';
import { NodeAdmission } from './node-admission.ts';

const CRITICAL = 2_000_000_000;

const named = (name: string, spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod =>
  pod({ terminationGracePeriodSeconds: 0, ...spec }, {}, { name, ...metadata });
const asking = (cpu: string): Partial<PodSpec> => ({
  containers: [container('main', { resources: { requests: { cpu } } })],
});
const withPort = { containers: [container('main', { ports: [{ containerPort: 80, hostPort: 8080 }] })] };

const statusOf = (node: TestNode, name: string) => (): PodStatus | undefined =>
  node.client.all(PODS).find(({ metadata }) => metadata.name === name)?.status;

async function put(node: TestNode, object: Pod): Promise<string> {
  const { uid = '' } = (await node.put(object)).metadata;
  await soon(node, () => node.pods.get(uid)).toBeDefined();
  return uid;
}

async function run(node: TestNode, object: Pod): Promise<() => PodStatus | undefined> {
  node.work(await put(node, object));
  return statusOf(node, object.metadata.name ?? '');
}

/** Starts an agent whose Node has this number of CPUs. */
const startWith = (cpu: string): Promise<TestNode> => startNode({ node: () => nodeOf(OWNER.node, { cpu }) });

it('a pod that was created with a node fails while another pod there has its host port', async () => {
  const node = await startNode();
  const first = await run(node, named('first', withPort));
  await soon(node, () => first()?.phase).toBe('Running');
  const second = await run(node, named('second', withPort));
  await soon(node, () => second()?.phase).toBe('Failed');
  const message = "Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports";
  expect(second()).toMatchObject({ reason: 'NodePorts', message: `Pod was rejected: ${message}` });
  expect(node.events).toContain(`Warning NodePorts ${message}`);
  expect(first()?.phase).toBe('Running');
  await node.client.delete(PODS, { namespace: 'default', name: 'first' }, { gracePeriodSeconds: 0 }, node.stop.signal);
  await soon(node, () => first()).toBeUndefined();
  const third = await run(node, named('third', withPort));
  await soon(node, () => third()?.phase).toBe('Running');
});

it('a pod that a node has no room for fails, and nothing of it is created', async () => {
  const node = await startWith('2');
  const first = await run(node, named('first', asking('1500m')));
  await soon(node, () => first()?.phase).toBe('Running');
  const second = await run(node, named('second', asking('1')));
  await soon(node, () => second()?.phase).toBe('Failed');
  const message = "Node didn't have enough resource: cpu, requested: 1000, used: 1500, capacity: 2000";
  expect(second()).toMatchObject({ reason: 'OutOfcpu', message: `Pod was rejected: ${message}` });
  expect(node.events).toContain(`Warning OutOfcpu ${message}`);
  expect(await node.runtime.observer.listPods(node.owner, node.stop.signal)).toHaveLength(1);
  const third = await run(node, named('third', asking('500m')));
  await soon(node, () => third()?.phase).toBe('Running');
});

it('a pod that has failed holds nothing', async () => {
  const node = await startWith('2');
  const first = await run(node, named('first', { ...asking('2'), activeDeadlineSeconds: 60 }));
  await soon(node, () => first()?.phase).toBe('Running');
  await node.clock.advance(60_000);
  await soon(node, () => first()?.phase).toBe('Failed');
  const second = await run(node, named('second', asking('2')));
  await soon(node, () => second()?.phase).toBe('Running');
});

it('a pod that runs is not judged again: not by its agent, and not by the next one, on a node that has become smaller', async () => {
  const metadata = { name: OWNER.node, labels: { disk: 'ssd' } };
  let shown: Node = nodeOf(OWNER.node, { cpu: '4' }, { metadata });
  const node = await startNode({ node: () => shown });
  const selector = { nodeSelector: { disk: 'ssd' } };
  const status = await run(node, named('first', { ...asking('3'), ...selector }));
  await soon(node, () => status()?.phase).toBe('Running');
  shown = nodeOf(OWNER.node, { cpu: '1' });
  await node.end();
  const { uid = '' } = node.client.all(PODS)[0]?.metadata ?? {};
  const next = await startNode({ world: node, node: () => shown });
  await soon(next, () => next.pods.get(uid)).toBeDefined();
  next.work(uid);
  const second = await run(next, named('second', { ...asking('100m') }));
  await soon(next, () => second()?.phase).toBe('Failed');
  expect(second()?.reason).toBe('OutOfcpu');
  expect(status()?.phase).toBe('Running');
});

it('a label that was set a moment ago counts: no pod is rejected by what was read before', async () => {
  const node = await startNode();
  const first = await run(node, named('first', { nodeSelector: { disk: 'ssd' } }));
  await soon(node, () => first()?.reason).toBe('NodeAffinity');
  await node.client.put(NODES, nodeOf(OWNER.node, {}, { metadata: { name: OWNER.node, labels: { disk: 'ssd' } } }));
  const second = await run(node, named('second', { nodeSelector: { disk: 'ssd' } }));
  await soon(node, () => second()?.phase).toBe('Running');
});

it('of pods that have not been judged the oldest gets the room, unless it is too large', async () => {
  const node = await startWith('2');
  const old = await put(node, named('old', asking('2'), { creationTimestamp: '2025-12-31T00:00:00Z' }));
  await put(node, named('huge', asking('3'), { creationTimestamp: '2025-12-30T00:00:00Z' }));
  const young = await run(node, named('young', asking('1')));
  await soon(node, () => young()?.reason).toBe('OutOfcpu');
  node.work(old);
  await soon(node, () => statusOf(node, 'old')()?.phase).toBe('Running');
});

it('a critical pod takes the place of another one, which fails as disrupted', async () => {
  const node = await startWith('2');
  const first = await run(node, named('first', asking('2')));
  await soon(node, () => first()?.phase).toBe('Running');
  const critical = await run(node, named('critical', { ...asking('1'), priority: CRITICAL }));
  await soon(node, () => critical()?.phase).toBe('Running');
  await soon(node, () => first()?.phase).toBe('Failed');
  const message = 'Preempted in order to admit critical pod';
  expect(first()).toMatchObject({ reason: 'Preempting', message });
  expect(first()?.conditions).toContainEqual(
    expect.objectContaining({
      type: 'DisruptionTarget',
      status: 'True',
      reason: 'TerminationByKubelet',
      message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
    }),
  );
  expect(node.events).toContain(`Warning Preempting ${message}`);
});

it('a critical pod that is larger than its node takes the place of none', async () => {
  const node = await startWith('2');
  const first = await run(node, named('first', asking('2')));
  await soon(node, () => first()?.phase).toBe('Running');
  const critical = await run(node, named('critical', { ...asking('3'), priority: CRITICAL }));
  await soon(node, () => critical()?.reason).toBe('UnexpectedAdmissionError');
  expect(first()?.phase).toBe('Running');
});

/** Returns the admission of a node with two CPUs, without the workers of its pods. */
function admissionOf(pods: readonly Pod[], read?: () => Promise<Node>) {
  const byUid = new Map(pods.map((object) => [object.metadata.uid ?? '', object]));
  const events: string[] = [];
  const evictions = new Evictions({
    event: ({ metadata }, _, reason) => void events.push(`${reason} ${metadata.name}`),
  });
  const node = nodeOf(OWNER.node, { cpu: '2' });
  let judgements = 0;
  const admission = new NodeAdmission({
    pods: { list: () => pods, get: (uid) => byUid.get(uid) },
    node: { known: () => node, read: read ?? (async () => node) },
    engine: ENGINE,
    addresses: { nodeAddress: '10.0.0.1', podCidr: '' },
    pressure: {
      pressures: () => {
        judgements += 1;
        return [];
      },
    },
    evictions,
  });
  const { signal } = new AbortController();
  const judge = async (object: Pod) => (await admission.judge(object, undefined, signal))?.reason;
  const show = (object: Pod) => void byUid.set(object.metadata.uid ?? '', object);
  return { admission, judge, show, signal, events, judgements: () => judgements };
}

const aged = (name: string, cpu: string, change: Partial<PodSpec> = {}): Pod =>
  named(name, { ...asking(cpu), ...change }, { uid: `uid-${name}` });

it.each([['the oldest first'], ['the youngest first']])(
  'many pods that name a node are judged once each: %s',
  async (order) => {
    const count = 200;
    const pods = Array.from({ length: count }, (_, index) => aged(`web-${String(index).padStart(3, '0')}`, '1'));
    const { judge, judgements } = admissionOf(pods);
    const verdicts = await Promise.all((order === 'the oldest first' ? pods : pods.toReversed()).map(judge));
    expect(verdicts.filter((reason) => reason === undefined)).toHaveLength(2);
    expect(await Promise.all(pods.slice(0, 3).map(judge))).toEqual([undefined, undefined, 'OutOfcpu']);
    expect(judgements()).toBeLessThan(4 * count);
  },
);

it('a pod that has containers is admitted, also where it was rejected in the turn of another pod', async () => {
  const [large, small] = [aged('a', '3'), aged('b', '2')];
  const { admission, judge, signal } = admissionOf([large, small]);
  expect(await judge(small)).toBeUndefined();
  const state = podState([sandbox()], []);
  expect(await admission.judge(large, state, signal)).toBeUndefined();
  expect(await judge(large), 'nor is it judged again').toBeUndefined();
});

it('two critical pods preempt two pods, also where both are judged in one turn', async () => {
  const started = { startTime: '2026-01-01T00:00:00Z' };
  const running = ['a', 'b'].map((name) => ({ ...aged(name, '1'), status: started }));
  const critical = ['c', 'd'].map((name) => aged(name, '1', { priority: CRITICAL }));
  const { judge, events } = admissionOf([...running, ...critical]);
  expect(await Promise.all(critical.toReversed().map(judge))).toEqual([undefined, undefined]);
  expect(events.toSorted()).toEqual(['Preempting a', 'Preempting b']);
});

it('a critical pod that is deleted after it was judged in the turn of another pod preempts none', async () => {
  const started = { startTime: '2026-01-01T00:00:00Z' };
  const running = ['a', 'b'].map((name) => ({ ...aged(name, '1'), status: started }));
  const [first, second] = ['c', 'd'].map((name) => aged(name, '1', { priority: CRITICAL })) as [Pod, Pod];
  const { judge, show, events } = admissionOf([...running, first, second]);
  expect(await judge(second)).toBeUndefined();
  const deleted = { ...first, metadata: { ...first.metadata, deletionTimestamp: '2026-01-01T00:00:01Z' } };
  show(deleted);
  expect(await judge(deleted)).toBeUndefined();
  expect(events).toHaveLength(1);
});

it('a critical pod that is deleted while it is judged preempts none', async () => {
  const running = { ...aged('a', '2'), status: { startTime: '2026-01-01T00:00:00Z' } };
  const critical = aged('b', '1', { priority: CRITICAL });
  const read = Promise.withResolvers<Node>();
  const { judge, show, events } = admissionOf([running, critical], () => read.promise);
  const judged = judge(critical);
  show({ ...critical, metadata: { ...critical.metadata, deletionTimestamp: '2026-01-01T00:00:01Z' } });
  read.resolve(nodeOf(OWNER.node, { cpu: '2' }));
  expect(await judged).toBeUndefined();
  expect(events).toEqual([]);
});

it('a static pod that fits is admitted while another pod waits for the Node', async () => {
  const large = {
    ...aged('large', '3'),
    metadata: { name: 'large', uid: 'uid-large', creationTimestamp: '2026-01-02T00:00:00Z' },
  };
  const fits = {
    ...aged('fits', '1'),
    metadata: { name: 'fits', uid: '0'.repeat(32), creationTimestamp: '2026-01-01T00:00:00Z' },
  };
  const read = Promise.withResolvers<Node>();
  let reads = 0;
  const { judge } = admissionOf([large, fits], () => {
    reads += 1;
    return read.promise;
  });
  const waits = judge(large);
  const before = reads;
  const judged = judge(fits);
  expect(reads, 'it needs no read of its own').toBe(before);
  expect(await judged).toBeUndefined();
  read.resolve(nodeOf(OWNER.node, { cpu: '2' }));
  expect(await waits).toBe('OutOfcpu');
});
