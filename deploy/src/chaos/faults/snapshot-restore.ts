import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { CommandError } from '../../machine/command-error.ts';
import { mustRun } from '../../machine/shell.ts';
import { parseSnapshotFacts } from '../../snapshot/snapshot-file.ts';
import type { FaultKind, Scene } from '../fault.ts';

/** The fault that loses what everybody wrote. A campaign has it only with `--lose-writes`. */
export const RESTORE_FAULTS: readonly FaultKind[] = [
  {
    kind: 'snapshot-restored',
    what: 'A snapshot is saved, clients go on writing, the API servers are stopped, and the snapshot is restored (`npm run snapshot -- restore`). Without `--lose-writes`, it is never made.',
    targets: ['cluster'],
    durationMs: [5_000, 15_000],
    weight: 1,
    company: 'alone',
    strike: save,
    finish: restore,
  },
];

/** Why there is no such fault without the user's consent. */
export const NO_LOSS =
  'everything that anybody writes to the cluster between the snapshot and its restore is lost. Allow it with --lose-writes';

const savedFile = ({ folder, fault }: Scene) => join(folder, `snapshot-${fault.id}.tar`);

async function save(scene: Scene): Promise<string> {
  const { engine, random, command, undoLater } = scene;
  const file = savedFile(scene);
  const servers = await engine.resolve('apiserver', random);
  await undoLater([
    ...servers.map(({ id }) => ({ undo: 'start', container: id }) as const),
    { undo: 'remove-file', file },
  ]);
  await command('snapshot', ['save', file, '--without-keys']);
  return `revision ${await revisionOf(scene)} is saved`;
}

/**
 * Everything is recorded before etcd stops: what is not, is lost for the checker, too. A campaign that is ended before the restore loses
 * nothing.
 */
async function restore(scene: Scene, stop: AbortSignal): Promise<void> {
  const { engine, fault, folder, command, compose, undoLater, history } = scene;
  if (history === undefined) throw new CommandError('the history is not recorded, so a restore needs a campaign');
  const { clock, etcd } = engine.options;
  const snapshotRevision = await revisionOf(scene);
  await compose(['stop', 'apiserver']);
  const lastRevision = await etcd.revision();
  await history.untilRecorded(lastRevision);
  if (stop.aborted) return;
  const stoppedMs = clock.monotonicMs();
  // By its own name: healing after a crash removes a file whose restore has not begun, and keeps the other one until etcd serves.
  const file = join(folder, `restored-${fault.id}.tar`);
  await undoLater([{ undo: 'end-restore', file }]);
  renameSync(savedFile(scene), file);
  await command('snapshot', ['restore', file]);
  history.cut({ snapshotRevision, lastRevision, stoppedMs });
}

async function revisionOf(scene: Scene): Promise<number> {
  const file = savedFile(scene);
  const facts = await mustRun(scene.engine.options.shell, 'tar', ['-xOf', file, 'snapshot.json']);
  return parseSnapshotFacts(facts, file).revision;
}
