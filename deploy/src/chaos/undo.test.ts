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
    Config: { Labels: labels ?? { 'com.docker.compose.project': CLUSTER, 'com.docker.compose.service': 'apiserver' } },
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
      endFormerLeaders: () => note('end-leaders', []),
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

/** After a restore that was interrupted. `looks` is what docker and the members say, one second after the other. */
async function endRestore(looks: readonly { locked?: true; copies?: true; apiserver?: true; failing?: string }[]) {
  const { tools, commands, asked } = fakeEngine({ api: {} });
  const file = makeSnapshot();
  const clock = new ManualClock();
  let look = looks[0];
  const [shell] = [tools.engine.options.shell];
  const engine = new ChaosEngine({
    ...tools.engine.options,
    clock,
    shell: {
      run: async (program, args) => {
        if (args[0] !== 'ps') return await shell.run(program, args);
        const isOfVolume = args.at(-1)?.startsWith('volume=') === true;
        const found = isOfVolume ? look?.copies : look?.apiserver;
        return await Promise.resolve({ code: 0, stdout: found === undefined ? '' : 'api', stderr: '' });
      },
    },
    etcd: {
      ...tools.engine.options.etcd,
      members: ['etcd-0', 'etcd-1'],
      ctl: async (_, [member] = []) =>
        await (member === look?.failing ? Promise.reject(new Error('no leader')) : Promise.resolve('')),
    },
  });
  const lockRestore = () => (look?.locked === undefined ? { [Symbol.dispose]: () => undefined } : undefined);
  const step = { undo: 'end-restore', file } as const;
  const undone = undoAll({ ...tools, engine, lockRestore }, [step]);
  const seen: (readonly string[])[] = [];
  for (look of looks) {
    await clock.advance(seen.length === 0 ? 1 : 1_000);
    seen.push(commands.splice(0));
  }
  return {
    undone,
    seen,
    asked,
    clock,
    isKept: () => existsSync(file),
    again: () => undoAll({ ...tools, engine }, [step]),
  };
}

test('after a restore that was interrupted, the members are started when it is over, and the snapshot is kept until all serve', async () => {
  const { undone, seen, asked, isKept, again } = await endRestore([
    { locked: true },
    { copies: true },
    { failing: 'etcd-1' },
    {},
  ]);
  await undone;
  const started = 'compose start etcd-0 etcd-1';
  expect(seen).toEqual([[], [], [started], [started, 'end-leaders']]);
  expect(isKept()).toBe(false);
  expect(asked.at(-1)).toBe('volume rm -f gantry-abc_restore');
  // Repeated, it does nothing.
  asked.length = 0;
  await again();
  expect(asked).toEqual([]);
});

test('after a restore that has started the API servers, nobody loses the lead', async () => {
  const { undone, seen } = await endRestore([{ apiserver: true }]);
  await undone;
  expect(seen).toEqual([['compose start etcd-0 etcd-1']]);
});

test('if only some members have the data of the snapshot, it is kept, and the message says how to go on', async () => {
  const { undone, clock, isKept } = await endRestore([{ failing: 'etcd-1' }]);
  const failed = expect(undone).rejects.toThrow(/etcd does not serve .*npm run snapshot -- restore .*no leader/);
  await clock.advance(300_000);
  await failed;
  expect(isKept()).toBe(true);
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
