import { existsSync, rmSync } from 'node:fs';
import { errorMessage } from '@gantry/base';
import { CommandError } from '../machine/command-error.ts';
import { removeUnpacked, unpackedVolume } from '../snapshot/restore-lock.ts';
import type { ChaosContainer, ChaosEngine, Limits } from './engine.ts';
import { untilRight } from './workloads/until-right.ts';

/**
 * How to undo a part of a fault. Each step can be repeated, and is done with nothing where its container is gone. Containers are named by
 * id, so that a step of a former run never concerns another one.
 */
export type UndoStep =
  | { readonly undo: 'unpause'; readonly container: string }
  | { readonly undo: 'start'; readonly container: string }
  | { readonly undo: 'continue'; readonly container: string }
  /** The table of nftables that a fault made in the container's network namespace. */
  | { readonly undo: 'drop-table'; readonly container: string; readonly table: string }
  | { readonly undo: 'drop-qdisc'; readonly container: string }
  | { readonly undo: 'remove-helper'; readonly name: string }
  | {
      readonly undo: 'limit';
      readonly container: string;
      readonly limits: Limits;
    }
  | { readonly undo: 'rename'; readonly container: string; readonly name: string }
  /** Runs a shell script in the container, if it runs. */
  | { readonly undo: 'exec'; readonly container: string; readonly script: string }
  | { readonly undo: 'unthrottle'; readonly container: string; readonly device: string }
  /** Gives an image its name again. */
  | { readonly undo: 'tag'; readonly image: string; readonly name: string }
  /** Removes a webhook configuration from the API. */
  | { readonly undo: 'remove-webhook'; readonly name: string }
  /** Rolls the services back to the cluster's own image, and removes the other one. */
  | { readonly undo: 'roll-back'; readonly image: string }
  /** Runs a command of the checkout, such as `etcd replace etcd-1`. */
  | { readonly undo: 'command'; readonly name: string; readonly args: readonly string[] }
  | { readonly undo: 'remove-file'; readonly file: string }
  /**
   * After a restore that may have been interrupted: starts the members of etcd, and removes the snapshot once all of them serve, with the former
   * data or with the snapshot's. Nothing is restored, because the cluster may have been used since.
   */
  | { readonly undo: 'end-restore'; readonly file: string }
  /** Waits until the Docker Engine responds. */
  | { readonly undo: 'await-engine' }
  /** Takes back all alarms of etcd. */
  | { readonly undo: 'disarm' }
  | { readonly undo: 'compose'; readonly args: readonly string[] };

/** What steps need beside the engine. */
export interface UndoTools {
  readonly engine: ChaosEngine;
  command(name: string, args: readonly string[]): Promise<void>;
  compose(args: readonly string[]): Promise<void>;
  removeWebhook(name: string): Promise<void>;
  /** Replaces the services one after the other by those of another image, or of the cluster's own one. */
  rollTo(image: string | undefined): Promise<void>;
  /** The lock of `npm run snapshot -- restore`; undefined while one runs. */
  lockRestore(): Disposable | undefined;
  /** Ends the terms of all leaders, who may be of another history than etcd's. While an API server runs, nobody is elected again. */
  endFormerLeaders(): Promise<void>;
}

/** How long a restore may go on, and how long etcd may then take to serve. */
const RESTORE_MS = 180_000;

/** Runs the steps, the last one first. Runs all of them, and then throws CommandError with what failed. */
export async function undoAll(tools: UndoTools, steps: readonly UndoStep[]): Promise<void> {
  const failures: string[] = [];
  for (const step of steps.toReversed()) {
    try {
      await undo(tools, step);
    } catch (error) {
      failures.push(`${describeStep(step)}: ${errorMessage(error)}`);
    }
  }
  if (failures.length > 0) throw new CommandError(`not undone: ${failures.join('; ')}`);
}

export function describeStep(step: UndoStep): string {
  if ('container' in step) return `${step.undo} ${step.container.slice(0, 12)}`;
  const file = 'file' in step ? [step.file] : [];
  return [step.undo, ...('name' in step ? [step.name] : []), ...('args' in step ? step.args : []), ...file].join(' ');
}

async function undo(tools: UndoTools, step: UndoStep): Promise<void> {
  const { engine, command, compose } = tools;
  if (step.undo === 'command') return await command(step.name, step.args);
  if (step.undo === 'remove-file') return rmSync(step.file, { force: true });
  if (step.undo === 'end-restore') return await endRestore(tools, step.file);
  if (step.undo === 'await-engine') return await engine.untilResponds();
  if (step.undo === 'disarm') return void (await engine.options.etcd.ctl(['alarm', 'disarm']));
  if (step.undo === 'compose') return await compose(step.args);
  if (step.undo === 'remove-webhook') return await tools.removeWebhook(step.name);
  if (step.undo === 'tag') return void (await engine.docker(['tag', step.image, step.name]));
  if (step.undo === 'roll-back') {
    await tools.rollTo(undefined);
    if ((await engine.imageId(step.image)) !== undefined) await engine.docker(['rmi', '-f', step.image]);
    return;
  }
  if (step.undo === 'remove-helper') {
    const helper = await engine.own(step.name);
    if (helper !== undefined) await tolerate(/is already in progress/, engine.docker(['rm', '-f', helper.id]));
    return;
  }
  const container = await engine.own(step.container);
  if (container !== undefined) await undoAt(engine, container, step);
}

async function endRestore(tools: UndoTools, file: string): Promise<void> {
  if (!existsSync(file)) return;
  const { engine, compose, lockRestore } = tools;
  const { clock, clusterId, etcd } = engine.options;
  const look = async () => {
    // Of a campaign that was killed, the command that restores may still run, and of that command a container that replaces the data.
    using lock = lockRestore();
    if (lock === undefined || (await isUnpackedInUse(engine))) return ['the restore goes on'];
    await compose(['start', ...etcd.members]);
    // Asked one by one: if only some of them have the snapshot's data, the others have a quorum or none serves.
    for (const member of etcd.members) await etcd.ctl(['get', '/gantry/incarnation'], [member]);
    // The restore ends the former leaders before it starts an API server.
    const services = await engine.services();
    if (!services.some(({ service, state }) => service === 'apiserver' && state === 'running')) {
      await tools.endFormerLeaders();
    }
    return [];
  };
  const wrong = await untilRight(clock, look, { limitMs: RESTORE_MS });
  if (wrong.length > 0) {
    throw new CommandError(
      `etcd does not serve after the restore of ${file}, which npm run snapshot -- restore can repeat: ${wrong.join('; ')}`,
    );
  }
  await removeUnpacked((args) => engine.docker(args), clusterId);
  rmSync(file, { force: true });
}

async function isUnpackedInUse(engine: ChaosEngine): Promise<boolean> {
  const users = ['ps', '-q', '--filter', `volume=${unpackedVolume(engine.options.clusterId)}`];
  return (await engine.docker(users)).trim() !== '';
}

type ContainerStep = Extract<UndoStep, { readonly container: string }>;

async function undoAt(engine: ChaosEngine, container: ChaosContainer, step: ContainerStep): Promise<void> {
  const { id, state } = container;
  switch (step.undo) {
    case 'unpause':
      if (state === 'paused') await tolerate(/is not paused/, engine.docker(['unpause', id]));
      return;
    case 'start':
      if (state !== 'running') await engine.docker(['start', id]);
      return;
    case 'continue':
      return await engine.signal(container, 'CONT');
    case 'drop-table':
      // `add` first: `delete` fails for a table that is gone with its namespace. Older kernels have no `destroy`.
      if (state !== 'running') return;
      await ifRunning(
        engine,
        container,
        engine.inNetwork(container, ['nft', `add table inet ${step.table}; delete table inet ${step.table}`]),
      );
      return;
    case 'drop-qdisc':
      if (state !== 'running') return;
      await ifRunning(engine, container, engine.inNetwork(container, ['sh', '-c', DROP_QDISCS]));
      return;
    case 'limit':
      await engine.docker(['update', ...limitOptions(step.limits), id]);
      return;
    case 'exec':
      // What it undoes ends with the container.
      if (state !== 'running') return;
      return await ifRunning(engine, container, engine.docker(['exec', id, 'sh', '-ec', step.script]));
    case 'unthrottle':
      if (state !== 'running') return;
      return await ifRunning(engine, container, engine.limitWrites(id, step.device, 0));
    case 'rename':
      if (container.name !== step.name) await engine.docker(['rename', id, step.name]);
      return;
  }
}

/** Options of `docker update`. A quota, not a number of processors: the engine cannot take the latter back. */
export function limitOptions({ memoryBytes, memorySwapBytes, cpuQuota }: Limits): readonly string[] {
  const memory = ['--memory', String(memoryBytes), '--memory-swap', String(memorySwapBytes)];
  return [...memory, '--cpu-quota', String(cpuQuota === 0 ? -1 : cpuQuota)];
}

/** The queueing disciplines of a namespace's interfaces other than the default. */
const DROP_QDISCS =
  'for dev in $(ls /sys/class/net); do if tc qdisc show dev $dev root | grep -Eq "netem|tbf"; then tc qdisc del dev $dev root; fi; done';

/** A container that ends meanwhile takes its namespace with it. */
async function ifRunning(engine: ChaosEngine, { id }: ChaosContainer, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    const [now] = await engine.inspect([id]);
    if (now?.state === 'running') throw error;
  }
}

async function tolerate(expected: RegExp, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!expected.test(errorMessage(error))) throw error;
  }
}
