import { ignoreNotFound, type HttpClient } from '@gantry/client';
import { CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES } from '@gantry/objects';
import type { OpenCluster } from '../cluster/open-cluster.ts';
import type { CommandConfig } from '../config.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { openChaosCluster, runningImage } from './chaos-cluster.ts';
import { CHAOS_LABEL, kubernetesProjectOf, repositoryOf } from './engine.ts';
import { type JournalContent, readJournal, removeJournal } from './journal.ts';
import { undoAll, type UndoStep } from './undo.ts';
import { HELD_KINDS } from './workloads/finalizers.ts';

const DELETE_MS = 30_000;

/**
 * First what is undone at `containers`, then, when etcd has a quorum, by `commands`. Of a cluster whose containers are removed next, without
 * what needs a working etcd: `containers to remove`, and `containers to make again` if its data stays. Then that still has to be undone.
 */
type Phase = 'containers' | 'containers to remove' | 'containers to make again' | 'commands';

/** Undoes what a campaign that was killed has left. Returns whether there was anything. */
export async function undoLeftovers(cluster: OpenCluster, what: Phase): Promise<boolean> {
  const { clusterId, config, shell } = cluster;
  const journal = readJournal(config);
  await removeHelpers(shell, clusterId);
  const image = await runningImage(cluster);
  if (journal === undefined || image === undefined) return false;
  const steps = stepsOf(journal, what);
  const chaos = openChaosCluster(cluster, image, journal.namespace);
  await undoAll(chaos, steps);
  if (what === 'commands') await removeImages(shell, clusterId);
  return true;
}

/** In the order in which they were written down. */
export function stepsOf({ faults }: Pick<JournalContent, 'faults'>, what: Phase): readonly UndoStep[] {
  const steps = faults.flatMap((fault) => fault.steps);
  if (what === 'commands') return steps.filter((step) => isCommand(step) || isRestore(step));
  const ofContainers = steps.filter((step) => !isCommand(step));
  if (what === 'containers') return ofContainers;
  if (what === 'containers to make again') return ofContainers.filter((step) => !isRestore(step));
  return ofContainers.map((step) => (isRestore(step) ? { ...step, undo: 'remove-file' } : step));
}

const COMMANDS: readonly UndoStep['undo'][] = ['command', 'compose', 'disarm', 'remove-webhook', 'roll-back'];
const isCommand = ({ undo }: UndoStep) => COMMANDS.includes(undo);
/** It starts etcd, and is not over before etcd serves. */
const isRestore = (step: UndoStep): step is Extract<UndoStep, { readonly undo: 'end-restore' }> =>
  step.undo === 'end-restore';

/** Removes the workloads of campaigns from the API, and then the record of what was left. Does not wait for their end. */
export async function removeWorkloads(config: CommandConfig, api: HttpClient): Promise<void> {
  const { items } = await api.list(NAMESPACES, { labelSelector: CHAOS_LABEL }, AbortSignal.timeout(DELETE_MS));
  for (const { metadata } of items) await removeNamespace(api, metadata.name ?? '');
  removeJournal(config);
}

/** Starts the removal of a namespace of workloads, and of their custom resources. Takes finalizers from objects, which would hold them. */
export async function removeNamespace(api: HttpClient, namespace: string): Promise<void> {
  const signal = AbortSignal.timeout(DELETE_MS);
  for (const resource of HELD_KINDS) {
    // The custom resource may be gone, or never have been.
    const { items } = (await ignoreNotFound(api.list(resource, { namespace }, signal))) ?? { items: [] };
    for (const { metadata } of items.filter(({ metadata }) => (metadata.finalizers ?? []).length > 0)) {
      const key = { namespace, name: metadata.name ?? '' };
      await ignoreNotFound(api.patch(resource, key, { merge: { metadata: { finalizers: null } } }, signal));
    }
  }
  await ignoreNotFound(api.delete(NAMESPACES, { namespace: '', name: namespace }, {}, signal));
  const { items } = await api.list(CUSTOM_RESOURCE_DEFINITIONS, { labelSelector: CHAOS_LABEL }, signal);
  for (const { metadata } of items) {
    const key = { namespace: '', name: metadata.name ?? '' };
    await ignoreNotFound(api.delete(CUSTOM_RESOURCE_DEFINITIONS, key, {}, signal));
  }
}

/** Removes the images that campaigns at a cluster have made. What still runs keeps its image, without a name. */
export async function removeImages(shell: Shell, clusterId: string): Promise<void> {
  const list = ['image', 'ls', '--format', '{{.Repository}}:{{.Tag}}', repositoryOf(clusterId)];
  const names = (await mustRun(shell, 'docker', list)).split('\n').filter((name) => name !== '');
  if (names.length > 0) await mustRun(shell, 'docker', ['rmi', '-f', '--no-prune', ...names]);
}

/** Removes the containers that a campaign started beside the cluster, and their networks. */
async function removeHelpers(shell: Shell, clusterId: string): Promise<void> {
  for (const id of [clusterId, kubernetesProjectOf(clusterId)]) await removeLabelled(shell, id);
}

async function removeLabelled(shell: Shell, id: string): Promise<void> {
  const filter = ['--filter', `label=${CHAOS_LABEL}=${id}`];
  for (const [list, remove] of [
    [
      ['ps', '-aq', ...filter],
      ['rm', '-f'],
    ],
    [
      ['network', 'ls', '-q', ...filter],
      ['network', 'rm'],
    ],
  ] as const) {
    const ids = (await mustRun(shell, 'docker', list)).split('\n').filter((id) => id !== '');
    // A container that ends meanwhile removes itself.
    if (ids.length > 0) await shell.run('docker', [...remove, ...ids]);
  }
}
