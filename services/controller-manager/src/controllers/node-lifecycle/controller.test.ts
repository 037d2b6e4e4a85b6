import { formatMicroTime, formatTime, pause } from '@gantry/base';
import type { ObjectWrite } from '@gantry/client';
import { LEASES, NAMESPACES, type Node, NODES, PODS, StatusError } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { createNodeLifecycleController, Rounds } from './controller.ts';

const metrics = createMetrics();
const meters = createMeters(metrics);
const served = async () => (await metrics.render()).text.split('\n');

const GRACE_MS = 4000;
const UNREACHABLE = 'node.kubernetes.io/unreachable:NoSchedule';
const AGENT_LEASE_SECONDS = 4;
const KUBELET_LEASE_SECONDS = 40;
const KEY = { namespace: '', name: 'n' };
const LEASE_NAMESPACE = 'kube-node-lease';

function putLeaseNamespace(client: ControllerHarness['client']) {
  return client.put(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: LEASE_NAMESPACE } });
}

/** The Lease of an agent, or of a kubelet, which renews it less often. */
function putLease(client: ControllerHarness['client'], name: string, leaseDurationSeconds: number) {
  return client.put(LEASES, {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { namespace: LEASE_NAMESPACE, name },
    spec: { renewTime: '2026-01-01T00:00:00.000000Z', leaseDurationSeconds },
  });
}

const isReadyStatus = ({ status }: Node) => status?.conditions?.find(({ type }) => type === 'Ready')?.status;

describe('the node lifecycle controller, overtaken by others', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let events: ControllerHarness['events'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  let meanwhile: (write: ObjectWrite) => Promise<void>;
  beforeEach(async () => {
    ({ clock, client, stop, events, run: start } = createControllerHarness());
    meanwhile = async () => undefined;
    await putLeaseNamespace(client);
    await putLease(client, 'n', AGENT_LEASE_SECONDS);
  });

  const run = () => {
    const controllers = [createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })];
    start(controllers, { meanwhile: (write) => meanwhile(write) });
  };
  const putNode = (spec: NonNullable<Node['spec']>) =>
    client.put(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'n', annotations: { 'node.alpha.kubernetes.io/ttl': '0' } },
      spec,
      status: { conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:00Z' }] },
    });
  const node = () => client.all(NODES)[0];
  const taints = () => node()?.spec?.taints?.map(({ key, effect }) => `${key}:${effect}`) ?? [];
  const taintAsUser = async () => {
    const current = await client.get(NODES, KEY, stop.signal);
    const others = current.spec?.taints ?? [];
    const object: Node = {
      ...current,
      spec: { ...current.spec, taints: [...others, { key: 'dedicated', value: 'web', effect: 'NoSchedule' }] },
    };
    await client.update(NODES, object, stop.signal);
  };
  /** Runs `act` just before the first own write for which `isIt` is true. */
  const once = (isIt: (write: ObjectWrite) => boolean, act: () => Promise<void>) => {
    let acted: 'no' | 'yes' = 'no';
    meanwhile = async (write) => {
      if (acted === 'yes' || !isIt(write)) return;
      acted = 'yes';
      await act();
    };
  };
  const isSpecPatch = (write: ObjectWrite) =>
    write.verb === 'patch' && write.resource.resource === 'nodes' && write.subresource === undefined;

  it('keeps the taint that a user adds to a node that it taints, and loses no time by it', async () => {
    await putNode({ unschedulable: true });
    once(isSpecPatch, taintAsUser);
    run();
    await clock.advance(1);
    expect(taints()).toEqual(['dedicated:NoSchedule', 'node.kubernetes.io/unschedulable:NoSchedule']);
  });

  it('keeps the taint that a user adds between its writes of the status and of the taints', async () => {
    await putNode({});
    once(isSpecPatch, taintAsUser);
    run();
    await clock.advance(GRACE_MS + 10);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'Unknown' });
    expect(taints()).toEqual(['dedicated:NoSchedule', 'node.kubernetes.io/unreachable:NoSchedule']);
  });

  it('writes status, then taints, and does not conflict with itself', async () => {
    await putNode({});
    run();
    await clock.advance(GRACE_MS + 1000);
    const parts = client.writes.flatMap((write) =>
      write.verb === 'patch' && write.resource.resource === 'nodes' ? [write.subresource ?? 'spec'] : [],
    );
    expect(parts).toEqual(['status', 'spec']);
  });

  it('does not take for lost a node whose agent has just answered', async () => {
    await putNode({});
    const beat = async () => {
      const current = await client.get(NODES, KEY, stop.signal);
      const conditions = [{ type: 'Ready', status: 'True', lastHeartbeatTime: '2026-01-01T00:00:04Z' }];
      const object: Node = { ...current, status: { conditions } };
      await client.updateStatus(NODES, object, stop.signal);
    };
    once((write) => 'subresource' in write && write.subresource === 'status', beat);
    run();
    await clock.advance(GRACE_MS + 10);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'True' });
    expect(taints()).toEqual([]);
    await clock.advance(GRACE_MS + 10);
    expect(taints()).toEqual([UNREACHABLE]);
  });

  it('gets through to a node that others write all the time, and notices its silence in time', async () => {
    await putNode({});
    let labels = 0;
    const label = async () => {
      labels += 1;
      const patch = { metadata: { labels: { count: String(labels) } } };
      await client.patch(NODES, KEY, { merge: patch }, stop.signal);
    };
    meanwhile = async ({ resource }) => {
      if (resource.resource === 'nodes' && labels < 17) await label();
    };
    run();
    await clock.advance(GRACE_MS + 1000);
    expect(labels).toBe(17);
    expect(node()?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'Unknown' });
    expect(taints()).toEqual([UNREACHABLE]);
  });

  const announce = async (returnsBy: string | null) => {
    const patch = { metadata: { annotations: { 'gantry.dev/agent-returns-by': returnsBy } } };
    await client.patch(NODES, KEY, { merge: patch }, stop.signal);
  };
  const inSeconds = (seconds: number) => formatTime(clock.now() + seconds * 1000);

  it('lets a node be silent while its agent is being replaced, until the time that is announced', async () => {
    await putNode({});
    await announce(inSeconds(60));
    run();
    await clock.advance(59_900);
    expect([taints(), node()?.status?.conditions?.[0]?.status]).toEqual([[], 'True']);
    // Nobody has looked meanwhile, so the node gets a whole period.
    await clock.advance(GRACE_MS + 200);
    expect([taints(), node()?.status?.conditions?.[0]?.status]).toEqual([[UNREACHABLE], 'Unknown']);
  });

  it.each([
    ['was taken back', null],
    ['is over', -1],
    ['is later than any replacement takes', 3600],
  ])('does not wait for an agent whose return %s', async (_what, seconds) => {
    await putNode({});
    await announce(inSeconds(60));
    run();
    await clock.advance(GRACE_MS / 2);
    await announce(seconds === null ? null : inSeconds(seconds));
    await clock.advance(GRACE_MS / 2 + 10);
    expect(taints()).toEqual([UNREACHABLE]);
  });

  it('keeps what others say of a pod that it takes for unready', async () => {
    await putNode({});
    await client.put(PODS, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p', namespace: 'a' },
      spec: { containers: [], nodeName: 'n' },
      status: { conditions: [{ type: 'Ready', status: 'True', reason: 'R' }] },
    });
    const gate = async () => {
      const patch = { status: { conditions: [{ type: 'example.org/gate', status: 'True' }] } };
      await client.patch(PODS, { namespace: 'a', name: 'p' }, { strategic: patch, subresource: 'status' }, stop.signal);
    };
    once(({ resource }) => resource.resource === 'pods', gate);
    run();
    await clock.advance(GRACE_MS + 1000);
    const conditions = client.all(PODS)[0]?.status?.conditions;
    expect(new Set(conditions?.map(({ type, status, reason }) => [type, status, reason].join()))).toEqual(
      new Set(['Ready,False,R', 'example.org/gate,True,']),
    );
    expect(events('Pod').map(({ count }) => count)).toEqual([1]);
  });
});

describe('the node lifecycle controller, and the zones of nodes', () => {
  let harness: ControllerHarness;
  beforeEach(async () => {
    harness = createControllerHarness();
    await putLeaseNamespace(harness.client);
  });

  const put = (name: string, ready: string | undefined, labels = {}) =>
    harness.client.put(NODES, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels },
      status: ready === undefined ? {} : { conditions: [{ type: 'Ready', status: ready }] },
    });
  const report = async (name: string, ready: string) => {
    const current = await harness.client.get(NODES, { namespace: '', name }, harness.stop.signal);
    const object = { ...current, status: { conditions: [{ type: 'Ready', status: ready }] } };
    await harness.client.updateStatus(NODES, object, harness.stop.signal);
    await harness.clock.advance(50);
  };
  const evicting = () =>
    harness.client
      .all(NODES)
      .filter(({ spec }) => spec?.taints?.some(({ effect }) => effect === 'NoExecute'))
      .map(({ metadata }) => metadata.name);
  const start = async (graceMs = 600_000) => {
    harness.run([createNodeLifecycleController({ graceMs, meter: meters.nodes })]);
    await harness.clock.advance(10);
  };
  const zone = (name: string) => ({ 'topology.kubernetes.io/zone': name });

  it('evicts one node at once and one per second after it, in each zone', async () => {
    for (const name of ['a1', 'a2', 'a3']) await put(name, 'False', zone('a'));
    for (const name of ['b1', 'b2']) await put(name, 'False', zone('b'));
    await put('b3', 'True', zone('b'));
    await start();
    expect(evicting()).toHaveLength(2);
    await harness.clock.advance(900);
    expect(evicting()).toHaveLength(2);
    await harness.clock.advance(200);
    expect(evicting()).toHaveLength(4);
    await harness.clock.advance(1000);
    expect(evicting()).toEqual(['a1', 'a2', 'a3', 'b1', 'b2']);
    const lines = await served();
    const valueOf = (name: string, zone: string) =>
      Number(
        lines
          .find((line) => line.startsWith(`node_collector_${name}{`) && line.includes(zone))
          ?.split(' ')
          .at(-1),
      );
    expect([valueOf('evictions_total', ':a"'), valueOf('evictions_total', ':b"')]).toEqual([3, 2]);
    const looks = lines.find((line) => line.startsWith('node_collector_update_node_health_duration_seconds_count '));
    expect(Number(looks?.split(' ').at(-1))).toBeGreaterThanOrEqual(6);
    expect(lines).toContainEqual(
      expect.stringMatching(/^node_collector_update_all_nodes_health_duration_seconds_count [1-9]/),
    );
    const unhealthy = valueOf('unhealthy_nodes_in_zone', ':a"');
    const size = valueOf('zone_size', ':a"');
    expect(unhealthy).toBe(3);
    expect(valueOf('zone_health', ':a"')).toBeCloseTo((100 * (size - unhealthy)) / size);
  });

  it('evicts none in a small zone of which much is lost, until less is', async () => {
    for (const name of ['a', 'b', 'c']) await put(name, 'False');
    await put('d', 'True');
    await put('e', 'True');
    await start();
    await harness.clock.advance(10_000);
    expect(evicting()).toEqual([]);
    await put('f', 'True');
    await harness.clock.advance(600);
    expect(evicting()).toHaveLength(1);
  });

  it('takes evictions back when no node is ready, and goes on when one is', async () => {
    await put('a', 'False');
    await put('b', 'True');
    await start();
    expect(evicting()).toEqual(['a']);
    await report('b', 'False');
    expect(evicting()).toEqual([]);
    await report('b', 'True');
    await harness.clock.advance(1600);
    expect(evicting()).toEqual(['a']);
    await harness.client.delete(NODES, { namespace: '', name: 'b' }, {}, harness.stop.signal);
    await harness.clock.advance(50);
    expect(evicting()).toEqual([]);
  });

  it('waits a minute for the first status of a node', async () => {
    await put('new', undefined);
    await put('other', 'True');
    await start(4000);
    const condition = () => harness.client.all(NODES)[0]?.status?.conditions?.[0];
    await harness.clock.advance(55_000);
    expect(condition()).toBeUndefined();
    await harness.clock.advance(10_000);
    expect(condition()).toMatchObject({ status: 'Unknown', reason: 'NodeStatusNeverUpdated' });
  });

  it('takes a pod that comes to an unknown node for unready', async () => {
    await put('a', 'Unknown');
    await put('b', 'True');
    await start();
    const conditions = [{ type: 'Ready', status: 'True' }];
    const metadata = { name: 'p', namespace: 'n' };
    const spec = { containers: [], nodeName: 'a' };
    await harness.client.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec, status: { conditions } });
    await harness.clock.advance(50);
    expect(harness.client.all(PODS)[0]?.status?.conditions?.[0]).toMatchObject({ type: 'Ready', status: 'False' });
  });
});

describe('the node lifecycle controller, and nodes that report less often than agents', () => {
  let harness: ControllerHarness;
  beforeEach(async () => {
    harness = createControllerHarness();
    await putLeaseNamespace(harness.client);
  });

  const putNode = (name: string, status: Node['status'] = { conditions: [{ type: 'Ready', status: 'True' }] }) =>
    harness.client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name }, status });
  const start = (graceMs = GRACE_MS) => harness.run([createNodeLifecycleController({ graceMs, meter: meters.nodes })]);
  /** The time until the node was marked as lost, in ms from now. `Infinity` when it was not. */
  const lossWithin = async (name: string, ms: number) => {
    for (let passedMs = 100; passedMs <= ms; passedMs += 100) {
      await harness.clock.advance(100);
      const node = harness.client.all(NODES).find(({ metadata }) => metadata.name === name);
      if (node !== undefined && isReadyStatus(node) === 'Unknown') return passedMs;
    }
    return Number.POSITIVE_INFINITY;
  };

  it.each([
    ['whose Lease is an agent’s', AGENT_LEASE_SECONDS, 4000],
    ['whose Lease is a kubelet’s', KUBELET_LEASE_SECONDS, 50_000],
    ['without a Lease', undefined, 50_000],
  ])('takes a node %s for lost in time', async (_, seconds, graceMs) => {
    await putNode('n');
    if (seconds !== undefined) await putLease(harness.client, 'n', seconds);
    start();
    const lostMs = await lossWithin('n', 60_000);
    expect(lostMs).toBeGreaterThanOrEqual(graceMs);
    expect(lostMs).toBeLessThanOrEqual(graceMs + 200);
  });

  it('takes the removal of a Lease for no sign of life', async () => {
    await putNode('n');
    await putLease(harness.client, 'n', AGENT_LEASE_SECONDS);
    start();
    expect(await lossWithin('n', 3000)).toBe(Number.POSITIVE_INFINITY);
    const key = { namespace: LEASE_NAMESPACE, name: 'n' };
    await harness.client.delete(LEASES, key, {}, harness.stop.signal);
    expect(await lossWithin('n', 60_000)).toBeLessThanOrEqual(1200);
  });

  it('does not take a node for lost that renews every 10 s, and does when it stops', async () => {
    await putNode('n');
    await putLease(harness.client, 'n', KUBELET_LEASE_SECONDS);
    start();
    for (let beat = 0; beat < 12; beat++) {
      const merge = { spec: { renewTime: formatMicroTime(harness.clock.now()) } };
      await harness.client.patch(LEASES, { namespace: LEASE_NAMESPACE, name: 'n' }, { merge }, harness.stop.signal);
      expect(await lossWithin('n', 10_000)).toBe(Number.POSITIVE_INFINITY);
    }
    expect(await lossWithin('n', 60_000)).toBeLessThanOrEqual(40_500);
  });

  it('takes a node that never reports for lost after a minute, also where no other node reports', async () => {
    await putNode('n', {});
    start();
    const lostMs = await lossWithin('n', 70_000);
    expect(lostMs).toBeGreaterThanOrEqual(60_000);
    expect(lostMs).toBeLessThanOrEqual(60_500);
  });

  it('gives agents the time that is set, and others no less', async () => {
    await putNode('n');
    await putNode('other');
    await putLease(harness.client, 'n', AGENT_LEASE_SECONDS);
    start(2000);
    expect(await lossWithin('n', 10_000)).toBeLessThanOrEqual(2100);
    harness.stop.abort();
    harness = createControllerHarness();
    await putLeaseNamespace(harness.client);
    await putNode('n');
    await putLease(harness.client, 'n', KUBELET_LEASE_SECONDS);
    start(120_000);
    expect(await lossWithin('n', 130_000)).toBeGreaterThanOrEqual(120_000);
  });
});

describe('the node lifecycle controller, when the API does not answer', () => {
  let harness: ControllerHarness;
  beforeEach(async () => {
    harness = createControllerHarness();
    const { client } = harness;
    await putLeaseNamespace(client);
    for (const name of ['alive', 'dead']) {
      await client.put(NODES, {
        apiVersion: 'v1',
        kind: 'Node',
        metadata: { name },
        status: { conditions: [{ type: 'Ready', status: 'True' }] },
      });
      await putLease(client, name, AGENT_LEASE_SECONDS);
    }
  });

  /** Renews the Lease of the live node every second while `isUp` is true. */
  const beat = async (isUp: () => boolean) => {
    const { clock, client, stop } = harness;
    const key = { namespace: LEASE_NAMESPACE, name: 'alive' };
    while (!stop.signal.aborted) {
      const merge = { spec: { renewTime: formatMicroTime(clock.now()) } };
      if (isUp()) await client.patch(LEASES, key, { merge }, stop.signal);
      await pause(clock, 1000, stop.signal);
    }
  };
  /** The time until each node was marked as lost, in ms from now, checked every 50 ms. */
  const lossesWithin = async (ms: number) => {
    const losses: Record<string, number> = {};
    for (let passedMs = 0; passedMs < ms; passedMs += 50) {
      await harness.clock.advance(50);
      for (const node of harness.client.all(NODES)) {
        if (isReadyStatus(node) !== 'True') losses[node.metadata.name ?? ''] ??= passedMs + 50;
      }
    }
    return losses;
  };

  const INSTANTS = [2500, 3600, 3900, 4050, 4200, 4600, 5300, 9000];
  it.each(INSTANTS)('gives every node a full period when it answers again after %i ms', async (downMs) => {
    const { clock, stop, run } = harness;
    const upAgainMs = clock.monotonicMs() + 100 + downMs;
    const isDown = () => clock.monotonicMs() > upAgainMs - downMs && clock.monotonicMs() < upAgainMs;
    const reach = async (signal: AbortSignal) => {
      if (isDown()) await pause(clock, upAgainMs - clock.monotonicMs(), signal);
      signal.throwIfAborted();
    };
    // The agent notices 900 ms after the controller that the API responds again.
    void beat(() => clock.monotonicMs() < upAgainMs - downMs || clock.monotonicMs() >= upAgainMs + 900);
    run([createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })], { reach });
    await clock.advance(100 + downMs);
    const losses = await lossesWithin(12_000);
    expect(Object.keys(losses)).toEqual(['dead']);
    expect(losses['dead']).toBeGreaterThanOrEqual(GRACE_MS);
    stop.abort();
  });

  it('gives every node a full period when the store takes writes again, though it answered reads', async () => {
    const { clock, client, run, stop } = harness;
    const upAgainMs = clock.monotonicMs() + 10_000;
    client.failNext(
      ({ verb }) => clock.monotonicMs() < upAgainMs && !['get', 'list', 'watch'].includes(verb),
      StatusError.internal('etcdserver: mvcc: database space exceeded'),
      Number.POSITIVE_INFINITY,
    );
    void beat(() => clock.monotonicMs() >= upAgainMs + 900);
    run([createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })]);
    expect(await lossesWithin(10_000)).toEqual({});
    const losses = await lossesWithin(12_000);
    expect(Object.keys(losses)).toEqual(['dead']);
    stop.abort();
  });

  it.each(['deleted', 'terminating'])('loses no node while the namespace of the Leases is %s', async (state) => {
    const { clock, client, run } = harness;
    run([createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })]);
    await clock.advance(100);
    const key = { namespace: '', name: LEASE_NAMESPACE };
    if (state === 'terminating') {
      await client.patch(NAMESPACES, key, { merge: { metadata: { finalizers: ['a/b'] } } }, harness.stop.signal);
    }
    await client.delete(NAMESPACES, key, {}, harness.stop.signal);
    expect(await lossesWithin(20_000)).toEqual({});
    if (state === 'terminating') {
      await client.patch(NAMESPACES, key, { merge: { metadata: { finalizers: null } } }, harness.stop.signal);
    }
    await putLeaseNamespace(client);
    void beat(() => true);
    expect(Object.keys(await lossesWithin(12_000))).toEqual(['dead']);
  });

  it('notices a dead node in time while the API answers', async () => {
    const { clock, run } = harness;
    void beat(() => true);
    run([createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })]);
    await clock.advance(1);
    const losses = await lossesWithin(8000);
    expect(losses).toEqual({ dead: expect.any(Number) });
    expect(losses['dead']).toBeLessThanOrEqual(GRACE_MS + 200);
  });

  it('records Events about registration, loss and removal', async () => {
    const { clock, client, events, run, stop } = harness;
    void beat(() => true);
    run([createNodeLifecycleController({ graceMs: GRACE_MS, meter: meters.nodes })]);
    await clock.advance(GRACE_MS + 1000);
    await client.delete(NODES, { namespace: '', name: 'dead' }, {}, stop.signal);
    await clock.advance(100);
    const of = (name: string) =>
      events('Node')
        .filter(({ involvedObject }) => involvedObject.name === name)
        .map(({ type, reason, message }) => ({ type, reason, message }));
    const registered = (name: string) => ({
      type: 'Normal',
      reason: 'RegisteredNode',
      message: `Node ${name} event: Registered Node ${name} in Controller`,
    });
    expect(of('alive')).toEqual([registered('alive')]);
    expect(of('dead')).toEqual([
      registered('dead'),
      { type: 'Normal', reason: 'NodeNotReady', message: 'Node dead status is now: NodeNotReady' },
      { type: 'Normal', reason: 'RemovingNode', message: 'Node dead event: Removing Node dead from Controller' },
    ]);
  });
});

it('a round ends when all nodes have been looked at once, and takes as long as its looks', () => {
  const looks: number[] = [];
  const all: number[] = [];
  const rounds = new Rounds({ updated: (seconds) => looks.push(seconds), updatedAll: (seconds) => all.push(seconds) });
  let names = ['a', 'b'];
  let lists = 0;
  const nodes = (): Node[] => {
    lists += 1;
    return names.map((name) => ({ apiVersion: 'v1', kind: 'Node', metadata: { name } }));
  };
  rounds.looked('a', 1, nodes);
  rounds.looked('a', 2, nodes);
  expect(all).toEqual([]);
  rounds.looked('b', 4, nodes);
  expect([all, lists]).toEqual([[7], 1]);
  // The round of another leader is not continued, and a node that is gone is looked at one last time.
  rounds.looked('a', 8, nodes);
  rounds.reset();
  rounds.looked('b', 16, nodes);
  names = ['b', 'c'];
  rounds.looked('a', 32, nodes);
  expect(all).toEqual([7, 48]);
  rounds.looked('b', 64, nodes);
  rounds.looked('c', 128, nodes);
  expect(all).toEqual([7, 48, 192]);
  expect(looks).toEqual([1, 2, 4, 8, 16, 32, 64, 128]);
});
