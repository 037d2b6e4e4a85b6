import { type Binding, type Event, type KubeObject, NODES, type Pod, PODS, StatusError } from '@gantry/objects';
import { seededRandom } from '@gantry/base';
import { setImmediate as turn } from 'node:timers/promises';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectClient, ObjectWrite, WriteResult } from '@gantry/client';
import type { EventRecorder, Log } from '@gantry/controller-runtime';
import { describe, expect, it } from 'vitest';
import { ClusterView } from './cluster-view.ts';
import { SchedulingQueue } from './queue.ts';
import { runCycle, runSchedulingCycles, type SchedulerOptions } from './scheduler.ts';
import { exampleNode, examplePod } from './testing/examples.ts';

const SILENT: Log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** An API server as the scheduler uses it: it has pods and responses to batches, which a test may change. */
class ApiServer implements Pick<ObjectClient, 'batch' | 'get'> {
  readonly pods = new Map<string, Pod>();
  readonly writes: ObjectWrite[] = [];
  answer: (write: ObjectWrite) => StatusError | undefined = () => undefined;
  #held = Promise.resolve();

  /** Batches have no response until the returned function is called. */
  hold(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = promise;
    return resolve;
  }

  async batch(writes: readonly ObjectWrite[]): Promise<readonly WriteResult[]> {
    this.writes.push(...writes);
    await this.#held;
    return writes.map((write) => {
      const error = this.answer(write);
      if (error !== undefined) return { ok: false, status: error.toStatus() };
      return { ok: true, object: { apiVersion: 'v1', kind: 'Status', metadata: {} } };
    });
  }

  async get<T extends KubeObject>(_: unknown, key: { readonly name: string }): Promise<T> {
    const pod: KubeObject | undefined = this.pods.get(key.name);
    if (pod === undefined) throw StatusError.notFound({ group: '', resource: 'pods' }, key.name);
    return pod as T;
  }
}

function start() {
  const clock = new ManualClock();
  const random = seededRandom(7);
  const queue = new SchedulingQueue({ clock, random });
  const view = new ClusterView(queue);
  const server = new ApiServer();
  const told: Pick<Event, 'type' | 'reason' | 'message'>[] = [];
  const warnings: string[] = [];
  const events: EventRecorder = { event: (_, type, reason, message) => told.push({ type, reason, message }) };
  const options: SchedulerOptions = {
    client: server as unknown as ObjectClient,
    cache: undefined as never,
    view,
    queue,
    events,
    clock,
    random,
    log: { ...SILENT, warn: (_, message) => warnings.push(message) },
  };
  const see = (pod: Pod, old?: Pod) => view.take({ kind: 'changed', resource: PODS, changes: [{ object: pod, old }] });
  const addNode = (name: string, cpu = '2') =>
    view.take({ kind: 'changed', resource: NODES, changes: [{ object: exampleNode(name, { cpu }), old: undefined }] });
  const cycle = async () => (await runCycle(options, new AbortController().signal)).written;
  return { clock, queue, view, server, told, warnings, see, addNode, cycle, options };
}

describe('a scheduling cycle', () => {
  it('binds what fits in one batch, and says so', async () => {
    const { server, told, see, addNode, cycle } = start();
    addNode('a');
    see(examplePod('p', { cpu: '1' }));
    see(examplePod('q', { cpu: '1' }));
    await cycle();
    expect(server.writes.map((write) => write.verb === 'create' && [write.subresource, write.name])).toEqual([
      ['binding', 'p'],
      ['binding', 'q'],
    ]);
    expect(server.writes[0]).toMatchObject({
      object: { metadata: { uid: 'uid-p' }, target: { kind: 'Node', name: 'a' } },
    });
    expect(told[0]).toEqual({ type: 'Normal', reason: 'Scheduled', message: 'Successfully assigned default/p to a' });
  });

  it('does not report an error when another scheduler has bound the pod', async () => {
    const { server, told, warnings, see, addNode, cycle } = start();
    addNode('a');
    const pod = examplePod('p', { cpu: '1' });
    see(pod);
    server.pods.set('p', { ...pod, spec: { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName: 'b' } });
    server.answer = () => StatusError.conflict({ group: '', resource: 'pods' }, 'p');
    await cycle();
    await cycle();
    expect(server.writes).toHaveLength(1);
    expect(told).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it('takes it for no fault that a pod that it refuses has been replaced', async () => {
    const { server, warnings, see, addNode, cycle } = start();
    addNode('a', '1');
    see(examplePod('p', { cpu: '2' }));
    server.answer = () => StatusError.conflict({ group: '', resource: 'pods' }, 'p');
    await cycle();
    expect(server.writes).toHaveLength(1);
    expect(warnings).toEqual([]);
  });

  it('does not count on room that it has just given away, though no cache shows it', async () => {
    const { server, see, addNode, cycle } = start();
    addNode('a');
    see(examplePod('p', { cpu: '2' }));
    await cycle();
    see(examplePod('q', { cpu: '1' }));
    await cycle();
    expect(server.writes.filter((write) => write.verb === 'create')).toHaveLength(1);
  });

  it('tells in Event and status why a pod has no node, once', async () => {
    const { clock, queue, server, told, see, addNode, cycle } = start();
    addNode('a', '1');
    const pod = examplePod('p', { cpu: '2' });
    see(pod);
    await cycle();
    const message =
      '0/1 nodes are available: 1 Insufficient cpu. ' +
      'preemption: 0/1 nodes are available: 1 Preemption is not helpful for scheduling.';
    expect(told).toEqual([{ type: 'Warning', reason: 'FailedScheduling', message }]);
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message };
    expect(server.writes).toMatchObject([
      { verb: 'patch', subresource: 'status', patch: { status: { conditions: [condition] } } },
    ]);
    see({ ...pod, status: { phase: 'Pending', conditions: [condition] } }, pod);
    await clock.advance(2000);
    queue.move(() => true);
    await cycle();
    expect(server.writes).toHaveLength(1);
  });

  it('tries again when a pod that took the room is gone', async () => {
    const { clock, server, view, see, addNode, cycle } = start();
    addNode('a', '1');
    const other = examplePod('x', { cpu: '1', node: 'a' });
    see(other);
    see(examplePod('p', { cpu: '1' }));
    await cycle();
    await clock.advance(2000);
    view.take({ kind: 'changed', resource: PODS, changes: [{ object: undefined, old: other }] });
    await cycle();
    expect(server.writes.filter((write) => write.verb === 'create')).toHaveLength(1);
  });

  it('counts a pod that shrinks as it was until it has shrunk, and tries again then', async () => {
    const { clock, server, see, addNode, cycle } = start();
    addNode('a', '1');
    const running = (cpu: string, actual: string): Pod => {
      const report = { name: 'main', image: 'i', imageID: '', ready: true, restartCount: 0 };
      const containerStatuses = [{ ...report, resources: { requests: { cpu: actual } } }];
      return { ...examplePod('x', { cpu, node: 'a' }), status: { phase: 'Running', containerStatuses } };
    };
    const bound = () => server.writes.filter((write) => write.verb === 'create').length;
    see(running('1', '1'));
    see(examplePod('p', { cpu: '500m' }));
    await cycle();
    await clock.advance(2000);
    see(running('500m', '1'), running('1', '1'));
    await cycle();
    expect(bound()).toBe(0);
    see(running('500m', '500m'), running('500m', '1'));
    await cycle();
    expect(bound()).toBe(1);
  });

  it('keeps the room of a binding whose outcome is unknown, and sends it again to the same node', async () => {
    const { clock, server, view, see, addNode, cycle } = start();
    addNode('a');
    addNode('b');
    const pod = examplePod('p', { cpu: '2' });
    server.pods.set('p', pod);
    see(pod);
    server.answer = () => StatusError.timeout('outcome unknown');
    await cycle();
    const room = () => ['a', 'b'].map((name) => view.keeper.node(name)?.pods.size);
    const first = room();
    expect(first.toSorted()).toEqual([0, 1]);
    // Another pod gets the other node, and a third one gets none.
    see(examplePod('q', { cpu: '2' }));
    see(examplePod('r', { cpu: '2' }));
    server.answer = () => undefined;
    await cycle();
    expect(room()).toEqual([1, 1]);
    await clock.advance(2000);
    await cycle();
    const targets = server.writes.flatMap((write) =>
      write.verb === 'create' && write.name === 'p' ? [(write.object as Binding).target.name] : [],
    );
    expect(targets).toEqual([first[0] === 1 ? 'a' : 'b', first[0] === 1 ? 'a' : 'b']);
    expect(room()).toEqual([1, 1]);
  });

  it('keeps the room though a later attempt is rejected for certain, until the cache says', async () => {
    const { clock, server, view, see, addNode, cycle } = start();
    addNode('a');
    const pod = examplePod('p', { cpu: '2' });
    server.pods.set('p', pod);
    see(pod);
    server.answer = () => StatusError.timeout('outcome unknown');
    await cycle();
    server.answer = () => StatusError.conflict({ group: '', resource: 'pods/binding' }, 'p', 'changed');
    await clock.advance(2000);
    await cycle();
    expect(view.keeper.node('a')?.pods.size).toBe(1);
    view.take({ kind: 'changed', resource: PODS, changes: [{ object: undefined, old: pod }] });
    expect(view.keeper.node('a')?.pods.size).toBe(0);
    await clock.advance(20_000);
    await cycle();
    expect(server.writes).toHaveLength(2);
  });

  it('forgets what it assumed in an earlier term: the fence lets none of it land any more', async () => {
    const { server, view, see, addNode, cycle } = start();
    addNode('a');
    const pod = examplePod('p', { cpu: '2' });
    server.pods.set('p', pod);
    see(pod);
    server.answer = () => StatusError.timeout('outcome unknown');
    await cycle();
    view.requeue([pod]);
    expect(view.keeper.node('a')?.pods.size).toBe(0);
    server.answer = () => undefined;
    await cycle();
    expect(server.writes).toHaveLength(2);
  });

  it('takes the room back and tries again when a binding failed', async () => {
    const { clock, server, view, see, addNode, cycle } = start();
    addNode('a');
    const pod = examplePod('p', { cpu: '2' });
    server.pods.set('p', pod);
    see(pod);
    server.answer = () => StatusError.unavailable('not reached');
    await cycle();
    expect(view.keeper.node('a')?.pods.size).toBe(0);
    server.answer = () => undefined;
    await clock.advance(2000);
    await cycle();
    expect(view.keeper.node('a')?.pods.size).toBe(1);
  });

  it.each(['is not reached', 'does not know the pod'])(
    'gives the room of a pod to one that waits for it when the server %s',
    async (why) => {
      const { clock, server, view, see, addNode, cycle } = start();
      addNode('a');
      const [first, second] = [examplePod('p', { cpu: '2' }), examplePod('q', { cpu: '2' })];
      for (const pod of [first, second]) see(pod);
      const isReached = why !== 'is not reached';
      if (!isReached) server.pods.set('p', first);
      const error = isReached
        ? StatusError.notFound({ group: '', resource: 'pods' }, 'p')
        : StatusError.unavailable('');
      server.answer = (write) => (write.verb === 'create' ? error : undefined);
      await cycle();
      server.answer = () => undefined;
      if (!isReached) view.take({ kind: 'changed', resource: PODS, changes: [{ object: undefined, old: first }] });
      await clock.advance(2000);
      await cycle();
      expect(view.keeper.node('a')?.pods.has('default/q')).toBe(true);
    },
  );

  it('believes the server when a pod was bound after all', async () => {
    const { clock, server, view, see, addNode, cycle } = start();
    addNode('a');
    addNode('b');
    see(examplePod('p', { cpu: '2' }));
    server.pods.set('p', examplePod('p', { cpu: '2', node: 'b' }));
    server.answer = () => StatusError.conflict({ group: '', resource: 'pods/binding' }, 'p', 'already assigned');
    await cycle();
    expect([view.keeper.node('a')?.pods.size, view.keeper.node('b')?.pods.size]).toEqual([0, 1]);
    await clock.advance(20_000);
    await cycle();
    expect(server.writes).toHaveLength(1);
  });

  it('drops a pod that is gone', async () => {
    const { clock, server, see, addNode, cycle } = start();
    addNode('a');
    see(examplePod('p'));
    server.answer = () => StatusError.notFound({ group: '', resource: 'pods' }, 'p');
    await cycle();
    await clock.advance(20_000);
    await cycle();
    expect(server.writes).toHaveLength(1);
  });

  it('leaves alone pods of others, gated ones, and those that are being deleted', async () => {
    const { server, see, addNode, cycle } = start();
    addNode('a');
    see(examplePod('other', { spec: { schedulerName: 'mine' } }));
    see(examplePod('gated', { spec: { schedulingGates: [{ name: 'g' }] } }));
    const deleted = examplePod('deleted');
    see({ ...deleted, metadata: { ...deleted.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } });
    await cycle();
    expect(server.writes).toEqual([]);
  });
});

describe('scheduling cycles', () => {
  function startCycles(more: Partial<SchedulerOptions> = {}) {
    const started = start();
    const stop = new AbortController();
    const options = { ...started.options, cache: { list: () => [] } as never, ...more };
    let state: 'runs' | 'ended' | 'failed' = 'runs';
    const running = runSchedulingCycles(options, stop.signal, new AbortController().signal);
    running.then(
      () => (state = 'ended'),
      () => (state = 'failed'),
    );
    const { server } = started;
    /** The writes so far: `bind p`, `delete p`. */
    const writes = () =>
      server.writes.map((write) =>
        write.verb === 'create' ? `bind ${write.name ?? ''}` : `${write.verb} ${write.key.name}`,
      );
    return { ...started, stop, running, writes, state: () => state };
  }

  it('plan while bindings are written, of one earlier cycle at most', async () => {
    const { server, see, addNode, stop, running, writes } = startCycles();
    addNode('a');
    const release = server.hold();
    for (const name of ['p', 'q', 'r']) {
      see(examplePod(name, { cpu: '500m' }));
      await turn();
    }
    expect(writes()).toEqual(['bind p', 'bind q']);
    release();
    await turn();
    expect(writes()).toEqual(['bind p', 'bind q', 'bind r']);
    stop.abort();
    await running;
  });

  it('end when their bindings have been written', async () => {
    const { server, see, addNode, stop, running, state } = startCycles();
    addNode('a');
    const release = server.hold();
    see(examplePod('p'));
    await turn();
    stop.abort();
    await turn();
    expect(state()).toBe('runs');
    release();
    await running;
  });

  it('fail when the responses to bindings cannot be handled, also while no pod waits', async () => {
    const events: EventRecorder = {
      event: () => {
        throw new RangeError('broken');
      },
    };
    const { see, addNode, running } = startCycles({ events });
    addNode('a');
    see(examplePod('p'));
    await expect(running).rejects.toThrow('broken');
  });

  it('do not evict a pod whose binding has failed since they chose it', async () => {
    const { server, see, addNode, stop, running, writes } = startCycles();
    addNode('a');
    const victim = examplePod('victim', { cpu: '2', spec: { priority: 1 } });
    server.pods.set('victim', victim);
    server.answer = (write) =>
      write.verb === 'create' && write.name === 'victim'
        ? StatusError.conflict({ group: '', resource: 'pods' }, 'victim')
        : undefined;
    const release = server.hold();
    see(victim);
    await turn();
    see(examplePod('p', { cpu: '2', spec: { priority: 5 } }));
    await turn();
    release();
    await turn();
    await turn();
    expect(writes()).toEqual(['bind victim', 'bind p']);
    stop.abort();
    await running;
  });
});
