import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { errorMessage, seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { expect, onTestFinished, test } from 'vitest';
import type { ChaosEngine } from '../engine.ts';
import type { FaultKind, Scene } from '../fault.ts';
import { undoAll, type UndoStep, type UndoTools } from '../undo.ts';
import { RESTORE_FAULTS } from './snapshot-restore.ts';

const [KIND] = RESTORE_FAULTS as readonly [Required<FaultKind>];
const NEVER = new AbortController().signal;
const FACTS = { format: 1, clusterId: 'a', takenAt: '', revision: 10, keys: 'left-out', sealingKeys: [] };

/** A cluster with two API servers, whose snapshot has revision 10 and whose history then ends at 14. Notes what is done, in order. */
async function strike(failing?: string) {
  const folder = mkdtempSync(join(tmpdir(), 'chaos-restore-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const done: string[] = [];
  const steps: UndoStep[] = [];
  const note = async (what: string): Promise<void> => {
    done.push(what.replaceAll(`${folder}/`, ''));
    if (failing !== undefined && what.startsWith(failing)) throw new Error(`${failing} fails`);
    await Promise.resolve();
  };
  const engine = {
    resolve: async () => await Promise.resolve([{ id: 'a' }, { id: 'b' }]),
    options: {
      clock: new ManualClock(),
      etcd: { revision: async () => await Promise.resolve(14) },
      shell: { run: async () => await Promise.resolve({ code: 0, stdout: JSON.stringify(FACTS), stderr: '' }) },
    },
  } as unknown as ChaosEngine;
  const scene = {
    engine,
    fault: { id: 'f3' },
    random: seededRandom(1),
    folder,
    undoLater: async (added: readonly UndoStep[]) => {
      steps.push(...added);
      await note(`later ${added.map(({ undo }) => undo).join(' ')}`);
    },
    command: async (name: string, args: readonly string[]) => {
      if (args[0] === 'save') writeFileSync(args[1] ?? '', '');
      await note([name, ...args].join(' '));
    },
    compose: async (args: readonly string[]) => await note(`compose ${args.join(' ')}`),
    history: {
      untilRecorded: async (revision: number) => await note(`recorded ${revision}`),
      cut: (cut: unknown) => void done.push(JSON.stringify(cut)),
    },
  } as unknown as Scene;
  const detail = await KIND.strike(scene).catch(errorMessage);
  return { detail, done, steps, scene, files: (name: string) => existsSync(join(folder, name)) };
}

test('a snapshot is saved, and what removes it is written down before', async () => {
  const { detail, done, steps } = await strike();
  expect(detail).toBe('revision 10 is saved');
  expect(done).toEqual(['later start start remove-file', 'snapshot save snapshot-f3.tar --without-keys']);
  expect(steps.slice(0, 2)).toEqual([
    { undo: 'start', container: 'a' },
    { undo: 'start', container: 'b' },
  ]);
});

test('it is restored when no API server runs and all is recorded; how that ends is written down before', async () => {
  const { done, scene, files } = await strike();
  done.length = 0;
  await KIND.finish(scene, NEVER);
  expect(done).toEqual([
    'compose stop apiserver',
    'recorded 14',
    'later end-restore',
    'snapshot restore restored-f3.tar',
    JSON.stringify({ snapshotRevision: 10, lastRevision: 14, stoppedMs: scene.engine.options.clock.monotonicMs() }),
  ]);
  expect(files('snapshot-f3.tar')).toBe(false);
});

test('a campaign that is ended before the restore loses nothing', async () => {
  const { done, scene, files } = await strike();
  await KIND.finish(scene, AbortSignal.abort());
  expect(done.at(-1)).toBe('recorded 14');
  expect(files('restored-f3.tar')).toBe(false);
});

test.each(['compose stop', 'recorded', 'snapshot restore'])('if %s fails, no cut is recorded', async (what) => {
  const { done, scene } = await strike(what);
  await expect(KIND.finish(scene, NEVER)).rejects.toThrow(`${what} fails`);
  expect(done.at(-1)).toMatch(new RegExp(`^${what}`));
});

test('without a record of the history, nothing is stopped', async () => {
  const { done, scene } = await strike();
  const { history: _, ...alone } = scene;
  done.length = 0;
  await expect(KIND.finish(alone, NEVER)).rejects.toThrow('the history is not recorded, so a restore needs a campaign');
  expect(done).toEqual([]);
});

/** What heals it after the death of the campaign: etcd that serves, and containers that have ended. */
async function heal({ scene, steps }: Awaited<ReturnType<typeof strike>>): Promise<readonly string[]> {
  const done: string[] = [];
  const note = async (what: string) => await Promise.resolve(void done.push(what));
  const tools = {
    engine: {
      options: {
        clock: new ManualClock(),
        clusterId: 'cluster',
        etcd: { members: ['etcd-0'], ctl: async () => await Promise.resolve('') },
      },
      own: async (id: string) => await Promise.resolve({ id, state: 'exited' }),
      services: async () => await Promise.resolve([{ service: 'apiserver', state: 'exited' }]),
      docker: async (args: readonly string[]) => (args[0] === 'ps' ? '' : (await note(args.join(' ')), '')),
    },
    compose: async (args: readonly string[]) => await note(`compose ${args.join(' ')}`),
    endFormerLeaders: async () => await note('leaders end'),
    lockRestore: () => ({ [Symbol.dispose]: () => undefined }),
  } as unknown as UndoTools;
  // As the journal has them: what the campaign had in memory is gone.
  await undoAll(tools, JSON.parse(JSON.stringify(steps)) as readonly UndoStep[]);
  expect(readdirSync(scene.folder)).toEqual([]);
  return done;
}

const RESTARTED = ['start b', 'start a'];
const ENDED = ['compose start etcd-0', 'leaders end', 'volume rm -f cluster_restore'];

test.each<[string, readonly string[]]>([
  ['snapshot save', RESTARTED],
  ['compose stop', RESTARTED],
  ['recorded', RESTARTED],
  ['later end-restore', RESTARTED],
  ['snapshot restore', [...ENDED, ...RESTARTED]],
])('a campaign that dies at %s leaves a journal that heals everything', async (step, healed) => {
  const made = await strike(step);
  if (step !== 'snapshot save') await expect(KIND.finish(made.scene, NEVER)).rejects.toThrow(`${step} fails`);
  expect(made.done.at(-1)).toMatch(new RegExp(`^${step}`));
  expect(await heal(made)).toEqual(healed);
});

test('a campaign that dies when the snapshot is restored leaves a journal that heals everything', async () => {
  const made = await strike();
  await KIND.finish(made.scene, NEVER);
  expect(await heal(made)).toEqual([...ENDED, ...RESTARTED]);
});
