import { pause } from '@gantry/base';
import { type ChaosContainer, type ChaosEngine, CHAOS_LABEL } from '../engine.ts';
import { startLines } from './line-process.ts';
import type { RunFolder } from './run-folder.ts';

/** What `docker events` prints. */
interface PrintedEvent {
  readonly Action: string;
  readonly Actor: { readonly ID: string; readonly Attributes: Readonly<Record<string, string>> };
}

const REOPEN_MS = 500;
/** Those of health checks, three for each, are left out. */
const ACTIONS = ['create', 'start', 'die', 'kill', 'stop', 'pause', 'unpause', 'oom', 'rename', 'destroy', 'update'];

/** Records what the engine says of the cluster's containers until aborted. Resolves with the end of the recording. */
export async function recordEngine(
  engine: ChaosEngine,
  folder: RunFolder,
  stop: AbortSignal,
): Promise<{ readonly ended: Promise<void> }> {
  const { clusterId } = engine.options;
  const labels = [`gantry.cluster=${clusterId}`, `com.docker.compose.project=${clusterId}`];
  await snapshot(engine, folder);
  const streams = labels.map((label) => follow(engine, folder, label, stop));
  const ended = Promise.all(streams).then(() => snapshot(engine, folder));
  // The campaign awaits it at its end. An unhandled rejection before that would end the process without healing.
  ended.catch(() => undefined);
  return { ended };
}

async function follow(engine: ChaosEngine, folder: RunFolder, label: string, stop: AbortSignal): Promise<void> {
  const filters = [`label=${label}`, 'type=container', ...ACTIONS.map((action) => `event=${action}`)];
  const args = ['events', '--format', '{{json .}}', ...filters.flatMap((filter) => ['--filter', filter])];
  while (!stop.aborted) {
    let lastMs = engine.options.clock.monotonicMs();
    const { ended } = startLines('docker', args, stop, (line) => {
      lastMs = folder.engine(recordOf(JSON.parse(line) as PrintedEvent));
    });
    await ended;
    if (stop.aborted) return;
    await pause(engine.options.clock, REOPEN_MS, stop);
    // The stream also ends with the engine itself.
    await engine.untilResponds();
    await snapshot(engine, folder, lastMs);
  }
}

function recordOf({ Action, Actor: { ID: id, Attributes: attributes } }: PrintedEvent) {
  const { name, exitCode, ...labels } = attributes;
  return {
    action: Action.split(':')[0] ?? Action,
    id,
    labels,
    ...(name === undefined ? {} : { name }),
    ...(exitCode === undefined ? {} : { exitCode: Number(exitCode) }),
  };
}

async function snapshot(engine: ChaosEngine, folder: RunFolder, gapSinceMs?: number): Promise<void> {
  const all = [...(await engine.services()), ...(await engine.pods())];
  const containers = all.filter(({ labels }) => labels[CHAOS_LABEL] !== engine.options.clusterId).map(containerOf);
  folder.engine({ snapshot: containers, ...(gapSinceMs === undefined ? {} : { gapSinceMs }) });
}

function containerOf({ id, name, state, labels, addresses }: ChaosContainer) {
  return { id, name, state, labels: { ...labels }, networks: Object.keys(addresses) };
}
