import type { Container, Lifecycle, Pod } from '@gantry/objects';
import { PODS } from '@gantry/objects';
import { expect, it } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import { container, pod } from '../testing/pods.ts';
import { OWNER, soon, startNode, type TestNode } from '../testing/start-node.ts';

const exec = (name: string) => ({ exec: { command: [name] } });
const withHooks = (lifecycle: Lifecycle, change: Partial<Container> = {}): Pod =>
  pod({ containers: [container('main', { lifecycle, ...change })], terminationGracePeriodSeconds: 10 });

interface LoggedNode extends TestNode {
  readonly log: readonly string[];
}

/** Starts a node with the engine's log. A hook's command ends with the exit code in the last digit of its name. */
async function nodeWithLog(stopMs = 0): Promise<LoggedNode> {
  const log: string[] = [];
  const node: TestNode = await startNode({
    behaviour: {
      stopMs,
      exec: (_spec, [name = '']) => {
        log.push(name);
        return { exitCode: Number(name.slice(-1)), output: 'a secret' };
      },
    },
    wrap: (hollow) => ({
      ...hollow,
      containers: {
        ...hollow.containers,
        startContainer: async (id, signal) => {
          await hollow.containers.startContainer(id, signal);
          log.push('start');
        },
        stopContainer: (id, seconds, signal) => {
          // The stop is repeated if the pod was listed before the first stop was visible.
          if (log.at(-1) !== `stop in ${seconds}`) log.push(`stop in ${seconds}`);
          return hollow.containers.stopContainer(id, seconds, signal);
        },
      },
    }),
  });
  return { ...node, log };
}

const stateOf = (node: TestNode) => node.client.all(PODS)[0]?.status?.containerStatuses?.[0]?.state;

/** Runs the pod. If asked, deletes it after half a minute. */
async function run(node: LoggedNode, object: Pod, then: 'leave' | 'delete'): Promise<void> {
  const { metadata } = await node.put({
    ...object,
    metadata: { ...object.metadata, finalizers: ['example.com/keep'] },
  });
  await node.clock.advance(10);
  node.work(metadata.uid ?? '');
  await soon(node, () => node.log).toContain('start');
  if (then === 'leave') return;
  await soon(node, () => stateOf(node)?.running).toBeDefined();
  await node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, node.stop.signal);
  await soon(node, () => node.events).toContain('Normal Killing Stopping container main');
}

it('a container is signalled after its preStop hook, with what the hook left of the grace period', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ preStop: { sleep: { seconds: 4 } } }), 'delete');
  await node.clock.advance(3_500);
  expect(node.log).toEqual(['start']);
  await node.clock.advance(500);
  await soon(node, () => node.log).toEqual(['start', 'stop in 6']);
});

it('a hook that takes the whole grace period leaves two seconds for the end', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ preStop: { sleep: { seconds: 60 } } }), 'delete');
  await node.clock.advance(9_500);
  expect(node.log).toEqual(['start']);
  await node.clock.advance(500);
  await soon(node, () => node.log).toEqual(['start', 'stop in 2']);
  expect(node.events.filter((event) => event.includes('Hook'))).toEqual([]);
});

it('a preStop hook that fails is an Event without its output, and the container is stopped', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ preStop: exec('exit-1') }), 'delete');
  await soon(node, () => node.log).toEqual(['start', 'exit-1', 'stop in 10']);
  expect(node.events).toContain('Warning FailedPreStopHook PreStopHook failed');
});

it('a TCP connection is no hook', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ preStop: { tcpSocket: { port: 80 } } }), 'delete');
  await soon(node, () => node.events).toContain('Warning FailedPreStopHook PreStopHook failed');
});

it('a container that ends by itself ends its preStop hook', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ preStop: { sleep: { seconds: 8 } } }), 'delete');
  await node.clock.advance(1_000);
  const [state] = await node.hollow.observer.listPods(OWNER);
  node.hollow.exit(state?.containers[0]?.id ?? '', 0);
  await soon(node, () => node.hollow.observer.listPods(OWNER)).toEqual([]);
});

it('a container is stopped and started again when its postStart hook fails', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ postStart: exec('exit-2'), preStop: exec('exit-0') }), 'leave');
  await soon(node, () => node.log).toEqual(['start', 'exit-2', 'exit-0', 'stop in 10']);
  expect(node.events).toContain('Warning FailedPostStartHook PostStartHook failed');
  expect(node.events).toContain('Normal Killing FailedPostStartHook');
  expect(node.events.join()).not.toContain('secret');
  await soon(node, () => stateOf(node)?.waiting?.reason).toBe('PostStartHookError');
  await node.clock.advance(1_000);
  await soon(node, () => node.log.slice(4, 6)).toEqual(['start', 'exit-2']);
});

it('a container shows as running after its postStart hook, and a deletion does not wait for that', async () => {
  const node = await nodeWithLog();
  await run(node, withHooks({ postStart: { sleep: { seconds: 60 } } }), 'leave');
  await node.clock.advance(1_000);
  expect([node.log, stateOf(node)?.waiting?.reason]).toEqual([['start'], 'ContainerCreating']);
  await node.client.delete(PODS, { namespace: 'default', name: 'web' }, {}, node.stop.signal);
  await soon(node, () => node.log).toEqual(['start', 'stop in 10']);
});

it('a stop that failed is repeated without its hook, and with what is left of the grace period', async () => {
  const log: string[] = [];
  const stops: { readonly atMs: number; readonly seconds: number }[] = [];
  let failures = 1;
  const node: TestNode = await startNode({
    behaviour: {
      exec: (_spec, [name = '']) => {
        log.push(name);
        return { exitCode: 0, output: '' };
      },
    },
    wrap: (hollow) => ({
      ...hollow,
      containers: {
        ...hollow.containers,
        startContainer: async (id, signal) => {
          await hollow.containers.startContainer(id, signal);
          log.push('start');
        },
        stopContainer: async (id, seconds, signal) => {
          stops.push({ atMs: node.clock.monotonicMs(), seconds });
          if (failures-- > 0) throw new AgentError('Runtime', 'the engine is away');
          await hollow.containers.stopContainer(id, seconds, signal);
        },
      },
    }),
  });
  await run({ ...node, log }, withHooks({ preStop: exec('exit-0') }), 'delete');
  await soon(node, () => stops).toHaveLength(1);
  await node.clock.advance(1_000);
  await soon(node, () => stops).toHaveLength(2);
  expect(log).toEqual(['start', 'exit-0']);
  const [first = { atMs: 0, seconds: 0 }, second = { atMs: 0, seconds: 0 }] = stops;
  expect(first.seconds).toBe(10);
  expect(second.seconds).toBeCloseTo(10 - (second.atMs - first.atMs) / 1000, 2);
});

it("the machine's clock may be set while a hook runs: the grace period is not changed by it", async () => {
  const node = await nodeWithLog();
  const { now } = node.clock;
  let ahead = 0;
  node.clock.now = () => now.call(node.clock) + ahead;
  await run(node, withHooks({ preStop: { sleep: { seconds: 4 } } }), 'delete');
  await node.clock.advance(1_000);
  ahead = 3_600_000;
  await node.clock.advance(3_000);
  await soon(node, () => node.log).toEqual(['start', 'stop in 6']);
});

it('the end of activeDeadlineSeconds ends a hook that takes longer', async () => {
  const node = await nodeWithLog();
  const object = withHooks({ postStart: { sleep: { seconds: 600 } } });
  await run(node, { ...object, spec: { containers: [], ...object.spec, activeDeadlineSeconds: 20 } }, 'leave');
  await node.clock.advance(19_000);
  expect(node.log).toEqual(['start']);
  await node.clock.advance(1_500);
  await soon(node, () => node.log).toEqual(['start', 'stop in 10']);
  await soon(node, () => node.client.all(PODS)[0]?.status?.reason).toBe('DeadlineExceeded');
});
