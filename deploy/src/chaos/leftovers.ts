import { existsSync, readFileSync } from 'node:fs';
import { ignoreNotFound, type HttpClient } from '@gantry/client';
import { CONFIG_MAPS, NAMESPACES } from '@gantry/objects';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { openChaosCluster, runningImage } from './chaos-cluster.ts';
import { CHAOS_LABEL } from './engine.ts';
import { type JournalContent, readJournal, removeJournal } from './journal.ts';
import { undoAll, type UndoStep } from './undo.ts';

const DELETE_MS = 30_000;

/** Throws CommandError while a campaign runs on this cluster. */
export function refuseDuringCampaign(config: CommandConfig): void {
  const journal = readJournal(config);
  if (journal === undefined || !isAlive(journal)) return;
  throw new CommandError(
    `npm run chaos runs on this cluster (process ${journal.pid})`,
    'end it first: Ctrl-C heals everything',
  );
}

/** Whether the campaign's process runs. Another process may have its number by now: where the system shows commands, that is checked. */
function isAlive({ pid }: JournalContent): boolean {
  const command = `/proc/${pid}/cmdline`;
  if (existsSync('/proc/self/cmdline')) return existsSync(command) && readFileSync(command, 'utf8').includes('chaos');
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Undoes what a campaign that was killed has left: first at `containers`, then, when etcd has a quorum, by `commands`. Returns whether
 * there was anything.
 */
export async function undoLeftovers(cluster: OpenCluster, what: 'containers' | 'commands'): Promise<boolean> {
  const { clusterId, config, shell } = cluster;
  const journal = readJournal(config);
  await removeHelpers(shell, clusterId);
  const image = await runningImage(cluster);
  if (journal === undefined || image === undefined) return false;
  const steps = journal.faults
    .flatMap((fault) => fault.steps)
    .filter((step) => isCommand(step) === (what === 'commands'));
  await undoAll(openChaosCluster(cluster, image, journal.namespace), steps);
  return true;
}

const isCommand = ({ undo }: UndoStep) => undo === 'command' || undo === 'compose' || undo === 'disarm';

/** Removes the workloads of campaigns from the API, and then the record of what was left. Does not wait for their end. */
export async function removeWorkloads(config: CommandConfig, api: HttpClient): Promise<void> {
  const { items } = await api.list(NAMESPACES, { labelSelector: CHAOS_LABEL }, AbortSignal.timeout(DELETE_MS));
  for (const { metadata } of items) await removeNamespace(api, metadata.name ?? '');
  removeJournal(config);
}

/** Starts the removal of a namespace of workloads. Takes finalizers from its objects, which would hold it. */
export async function removeNamespace(api: HttpClient, namespace: string): Promise<void> {
  const signal = AbortSignal.timeout(DELETE_MS);
  const { items } = await api.list(CONFIG_MAPS, { namespace }, signal);
  for (const { metadata } of items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0)) {
    const key = { namespace, name: metadata.name ?? '' };
    await ignoreNotFound(api.patch(CONFIG_MAPS, key, { merge: { metadata: { finalizers: null } } }, signal));
  }
  await ignoreNotFound(api.delete(NAMESPACES, { namespace: '', name: namespace }, {}, signal));
}

/** Removes the containers that a campaign started beside the cluster. */
async function removeHelpers(shell: Shell, clusterId: string): Promise<void> {
  const text = await mustRun(shell, 'docker', ['ps', '-aq', '--filter', `label=${CHAOS_LABEL}=${clusterId}`]);
  const ids = text.split('\n').filter((id) => id !== '');
  // One that ends meanwhile removes itself.
  if (ids.length > 0) await shell.run('docker', ['rm', '-f', ...ids]);
}
