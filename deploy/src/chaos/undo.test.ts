import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { expect, onTestFinished, test } from 'vitest';
import { ChaosEngine, readInspection, signalScript } from './engine.ts';
import type { Scene } from './fault.ts';
import { PROCESS_FAULTS } from './faults/process.ts';
import { rulesetBetween, sharedAddresses } from './faults/network.ts';
import { undoAll, type UndoStep } from './undo.ts';

const CLUSTER = 'gantry-abc';

interface Fake {
  readonly state?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly networkMode?: string;
}

function inspection(id: string, { state = 'running', labels, networkMode = 'control' }: Fake) {
  return {
    Id: id,
    Name: `/name-of-${id}`,
    State: { Status: state, Pid: 42 },
    Config: { Labels: labels ?? { 'com.docker.compose.project': CLUSTER, 'com.docker.compose.service': 'agent' } },
    HostConfig: { NetworkMode: networkMode, Memory: 1, MemorySwap: 2, CpuQuota: 0 },
    NetworkSettings: { Networks: { control: { IPAddress: '10.0.0.1' } } },
  };
}

/** An engine whose docker has these containers, and notes what else it is asked. */
function fakeEngine(containers: Readonly<Record<string, Fake>>) {
  const asked: string[] = [];
  const never = () => Promise.reject(new Error('not asked for'));
  const engine = new ChaosEngine({
    clusterId: CLUSTER,
    image: 'image',
    clock: new ManualClock(),
    namespace: 'chaos',
    leaders: { holderOf: never, etcdLeader: never },
    etcd: { members: [], image: 'etcd', reach: () => ({ run: [], ctl: [] }), revision: never, ctl: never },
    shell: {
      run: (_program, args) => {
        if (args[0] === 'inspect') {
          const found = args.slice(3).flatMap((id) => (containers[id] ? [inspection(id, containers[id])] : []));
          return Promise.resolve({ code: 0, stdout: JSON.stringify(found), stderr: '' });
        }
        asked.push(args.join(' '));
        return Promise.resolve({ code: args.includes('fails') ? 1 : 0, stdout: '', stderr: 'no' });
      },
    },
  });
  const commands: string[] = [];
  const note = (name: string, args: readonly string[]) => {
    commands.push([name, ...args].join(' '));
    return Promise.resolve();
  };
  return {
    tools: {
      engine,
      command: note,
      compose: (args: readonly string[]) => note('compose', args),
      removeWebhook: (name: string) => note('remove-webhook', [name]),
      rollTo: (image: string | undefined) => note('roll', [image ?? 'back']),
      lockRestore: () => ({ [Symbol.dispose]: () => undefined }),
    },
    asked,
    commands,
  };
}

/** A snapshot in a folder of the test. */
function makeSnapshot(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-undo-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'restored-f1.tar');
  writeFileSync(file, '');
  return file;
}

test('after a restore that was interrupted, the members are started, and the snapshot is kept until they serve', async () => {
  const { tools, commands } = fakeEngine({});
  const file = makeSnapshot();
  const step = { undo: 'end-restore', file } as const;
  const clock = new ManualClock();
  const failures = ['no quorum'];
  const revision = async () => {
    const [why] = failures.splice(0, 1);
    if (why !== undefined) throw new Error(why);
    return await Promise.resolve(7);
  };
  const etcd = { ...tools.engine.options.etcd, members: ['etcd-0'], revision };
  const engine = new ChaosEngine({ ...tools.engine.options, clock, etcd });
  let isRestoring = true;
  const lockRestore = () => (isRestoring ? undefined : { [Symbol.dispose]: () => undefined });
  const undone = undoAll({ ...tools, engine, lockRestore }, [step]);
  await clock.advance(2_000);
  expect(commands).toEqual([]);
  isRestoring = false;
  await clock.advance(1_000);
  expect(commands).toEqual(['compose start etcd-0']);
  expect(existsSync(file)).toBe(true);
  await clock.advance(1_000);
  await undone;
  expect(existsSync(file)).toBe(false);
  // Repeated, it does nothing.
  await undoAll({ ...tools, engine, lockRestore }, [step]);
  expect(commands).toHaveLength(2);
});

test('if etcd does not serve after a restore, the snapshot is kept, and the message says how to go on', async () => {
  const { tools } = fakeEngine({});
  const file = makeSnapshot();
  const clock = new ManualClock();
  const engine = new ChaosEngine({ ...tools.engine.options, clock });
  const undone = undoAll({ ...tools, engine }, [{ undo: 'end-restore', file }]);
  const failed = expect(undone).rejects.toThrow(/etcd does not serve .*npm run snapshot -- restore/);
  await clock.advance(300_000);
  await failed;
  expect(existsSync(file)).toBe(true);
});

test('steps are undone from the last to the first', async () => {
  const { tools, asked, commands } = fakeEngine({ a: { state: 'paused' }, b: { state: 'exited' } });
  await undoAll(tools, [
    { undo: 'unpause', container: 'a' },
    { undo: 'command', name: 'etcd', args: ['replace', 'etcd-1'] },
    { undo: 'start', container: 'b' },
    { undo: 'exec', container: 'b', script: 'true' },
    { undo: 'remove-webhook', name: 'hook' },
    { undo: 'roll-back', image: 'other' },
    { undo: 'tag', image: 'sha256:1', name: 'pods' },
  ]);
  expect(asked).toEqual([
    'tag sha256:1 pods',
    'image inspect -f {{.Id}} other',
    'rmi -f other',
    'start b',
    'unpause a',
  ]);
  expect(commands).toEqual(['roll back', 'remove-webhook hook', 'etcd replace etcd-1']);
});

test('what is undone already, or whose container is gone, is left alone', async () => {
  const { tools, asked } = fakeEngine({ a: {}, b: { state: 'exited' } });
  await undoAll(tools, [
    { undo: 'unpause', container: 'a' },
    { undo: 'start', container: 'a' },
    { undo: 'drop-table', container: 'b', table: 't' },
    { undo: 'rename', container: 'a', name: 'name-of-a' },
    { undo: 'unpause', container: 'gone' },
    { undo: 'remove-helper', name: 'gone' },
  ]);
  expect(asked).toEqual([]);
});

test('a step that fails is reported, and the others are undone', async () => {
  const { tools, asked } = fakeEngine({ fails: { state: 'exited' }, b: { state: 'exited' } });
  const steps: readonly UndoStep[] = [
    { undo: 'start', container: 'b' },
    { undo: 'start', container: 'fails' },
  ];
  await expect(undoAll(tools, steps)).rejects.toThrow('not undone: start fails');
  expect(asked).toContain('start b');
});

test.each<UndoStep>([
  { undo: 'unpause', container: 'other' },
  { undo: 'start', container: 'other' },
  { undo: 'drop-table', container: 'other', table: 't' },
  { undo: 'remove-helper', name: 'other' },
])("$undo refuses another cluster's container", async (step) => {
  const others: readonly Readonly<Record<string, string>>[] = [
    {},
    { 'com.docker.compose.project': 'gantry-other' },
    { 'gantry.cluster': 'gantry-other' },
  ];
  for (const labels of others) {
    const { tools, asked } = fakeEngine({ other: { state: 'paused', labels } });
    await expect(undoAll(tools, [step])).rejects.toThrow(`is not of cluster ${CLUSTER}`);
    expect(asked).toEqual([]);
  }
});

test("no rule is written in the host's network", async () => {
  const { tools, asked } = fakeEngine({ proxy: { networkMode: 'host' } });
  const [proxy] = await tools.engine.inspect(['proxy']);
  if (proxy === undefined) throw new Error('no container');
  await expect(tools.engine.inNetwork(proxy, ['nft', 'list'])).rejects.toThrow('which others share');
  expect(asked).toEqual([]);
});

test('a signal is for the process only while it is of the container', () => {
  expect(signalScript({ id: 'abc', pid: 42 }, 'KILL')).toBe('if grep -qs abc /proc/42/cgroup; then kill -KILL 42; fi');
});

test('rules name the addresses of networks that both sides are on', () => {
  const [target, peer] = readInspection(
    JSON.stringify([
      inspection('a', {}),
      {
        ...inspection('b', {}),
        NetworkSettings: { Networks: { control: { IPAddress: '10.0.0.2' }, pods: { IPAddress: '10.1.0.2' } } },
      },
    ]),
  );
  if (target === undefined || peer === undefined) throw new Error('no containers');
  expect(sharedAddresses(target, [peer])).toEqual(['10.0.0.2']);
  expect(rulesetBetween('t', ['10.0.0.2', '10.0.0.3'], { out: 'drop' })).toBe(
    'table inet t {\nchain sent { type filter hook output priority 0; ip daddr { 10.0.0.2, 10.0.0.3 } drop; }\n}',
  );
});

test('an image of a campaign does not give services the label of containers beside the cluster', async () => {
  const { tools, asked } = fakeEngine({});
  await tools.engine.deriveImage('from', 'other');
  expect(asked.filter((args) => args.startsWith('commit'))).toEqual([
    `commit --change LABEL gantry.chaos= gantry-chaos-${CLUSTER}-image other`,
  ]);
});

test.each([
  ['restart-loop', 'remove-helper'],
  ['out-of-memory', 'limit'],
])('after %s, a container that the engine has given up starts again', async (kind, cause) => {
  const steps: UndoStep[] = [];
  const container = { id: 'a', name: 'agent-1', pid: 42, limits: { memoryBytes: 1, memorySwapBytes: 1, cpuQuota: 0 } };
  const scene = {
    engine: {
      options: { clusterId: CLUSTER, shell: { run: async () => await Promise.resolve({ code: 0 }) } },
      one: async () => await Promise.resolve(container),
      docker: async () => await Promise.resolve('1'),
      startHelper: async () => await Promise.resolve(),
    },
    fault: { id: 'f1', target: 'agent/1', durationMs: 1_000 },
    undoLater: async (later: readonly UndoStep[]) => await Promise.resolve(void steps.push(...later)),
  } as unknown as Scene;
  await PROCESS_FAULTS.find((one) => one.kind === kind)?.strike(scene);
  // The last step is undone first.
  expect(steps.map(({ undo }) => undo)).toEqual(['start', cause]);
});
