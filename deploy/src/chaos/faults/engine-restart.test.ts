import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import type { ShellResult } from '../../machine/shell.ts';
import { ChaosEngine } from '../engine.ts';
import type { Scene } from '../fault.ts';
import { undoAll, type UndoStep, type UndoTools } from '../undo.ts';
import { engineRestart } from './engine-restart.ts';

const CLUSTER = 'gantry-abc';
const DONE: ShellResult = { code: 0, stdout: '', stderr: '' };

const inspection = (id: string, project: string, state = 'running') => ({
  Id: id,
  Name: `/${id}`,
  State: { Status: state, Pid: 42 },
  Config: { Labels: { 'com.docker.compose.project': project, 'com.docker.compose.service': 'agent' } },
  HostConfig: { NetworkMode: 'control', Memory: 0, MemorySwap: 0, CpuQuota: 0 },
  NetworkSettings: { Networks: {} },
});

/** An engine with two services of the cluster, of which one runs, and a container of another one. `command` is what `sh -c` does. */
function start(command: (engine: { stop(): void }) => ShellResult) {
  const clock = new ManualClock();
  const asked: string[] = [];
  let stop = () => {};
  const ended = new Promise<ShellResult>((resolve) => (stop = () => resolve({ ...DONE, code: 1 })));
  let refusals = 2;
  const containers = [
    inspection('a', CLUSTER),
    inspection('b', CLUSTER, 'exited'),
    inspection('c', 'another'),
  ] as const;
  const run = async (program: string, args: readonly string[]): Promise<ShellResult> => {
    const text = [program, ...args].join(' ');
    if (text.startsWith('docker events')) return await ended;
    if (program === 'sh') return command({ stop });
    if (text.startsWith('docker ps')) {
      const listed = containers.filter(({ Config, State }) =>
        args.includes('--filter')
          ? Config.Labels['com.docker.compose.project'] === CLUSTER
          : State.Status === 'running',
      );
      return { ...DONE, stdout: listed.map(({ Id }) => Id).join('\n') };
    }
    if (text.startsWith('docker inspect'))
      return { ...DONE, stdout: JSON.stringify(containers.filter(({ Id }) => args.includes(Id))) };
    asked.push(text);
    return text.startsWith('docker version') && refusals-- > 0 ? { code: 1, stdout: '', stderr: 'no daemon' } : DONE;
  };
  const never = () => Promise.reject(new Error('not asked for'));
  const engine = new ChaosEngine({
    clusterId: CLUSTER,
    image: 'image',
    clock,
    namespace: 'chaos',
    leaders: { holderOf: never, etcdLeader: never },
    etcd: { members: [], image: 'etcd', reach: () => ({ run: [], ctl: [] }), revision: never, ctl: never },
    shell: { run },
  });
  const steps: UndoStep[] = [];
  const undoLater = async (added: readonly UndoStep[]) => void steps.push(...(await Promise.resolve(added)));
  const scene = { engine, random: seededRandom(1), undoLater } as unknown as Scene;
  return { clock, asked, steps, engine, struck: engineRestart('restart it').strike(scene) };
}

test('a restart acts when the engine stops, is written down before, and is healed when the engine responds', async () => {
  const { clock, asked, steps, engine, struck } = start((it) => (it.stop(), DONE));
  expect(await struck).toBe("the engine stops; 1 of the containers that ran are not this cluster's");
  expect(steps).toEqual([{ undo: 'start', container: 'a' }, { undo: 'await-engine' }]);
  const healed = undoAll({ engine } as UndoTools, steps);
  await clock.advance(1_000);
  await healed;
  expect(asked.filter((text) => text.startsWith('docker version'))).toHaveLength(3);
});

test('an engine that does not come back is reported', async () => {
  const { clock, engine, struck } = start((it) => (it.stop(), DONE));
  await struck;
  engine.options.shell.run = () => Promise.resolve({ code: 1, stdout: '', stderr: 'no daemon' });
  const healed = expect(undoAll({ engine } as UndoTools, [{ undo: 'await-engine' }])).rejects.toThrow(
    'not undone: await-engine: the Docker Engine does not respond: no daemon',
  );
  await clock.advance(121_000);
  await healed;
});

test.each([
  [{ code: 1, stdout: '', stderr: 'no such unit' }, '--engine-restart: restart it failed (1): no such unit'],
  [DONE, '--engine-restart: restart it has not restarted the engine'],
])('a command that restarts nothing is refused: %j', async (result, message) => {
  const { clock, struck } = start(() => result);
  const refused = expect(struck).rejects.toThrow(message);
  await clock.advance(5_000);
  await refused;
});
