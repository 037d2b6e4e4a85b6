import type { Clock } from '@gantry/base';
import type { BackOffEntry } from '../plan/back-off.ts';
import type { Eviction } from '../plan/pod-memory.ts';
import type { WorkerMemory } from './worker-memory.ts';

const VERSION = 1;

/**
 * The part of a worker's memory that neither API nor engine shows. It is kept in a file, so that an agent that starts again neither repeats
 * a preStop hook, nor gives a container its whole grace period again, nor pulls an image sooner than its predecessor would have.
 */
interface PodRecord {
  readonly version: typeof VERSION;
  /** The container id, when SIGKILL is due on the system clock, and whether the preStop hook has run. */
  readonly ends: readonly (readonly [string, number, 'due' | 'done'])[];
  readonly failedPostStart: readonly string[];
  readonly backOffs: readonly (readonly [string, BackOffEntry])[];
  readonly restartDelays: readonly (readonly [string, number])[];
  readonly eviction?: Eviction | undefined;
  /** The run of the machine in which this was recorded. */
  readonly machineStart?: string;
}

/** The text that `recall` reads; '' when there is nothing to recall. */
export function recordOf(memory: WorkerMemory, clock: Clock, machineStart: string): string {
  const { ends, failedPostStart, backOffs, restartDelays, eviction } = memory;
  if (ends.size + failedPostStart.size + backOffs.size + restartDelays.size === 0 && eviction === undefined) return '';
  const sinceEpoch = clock.now() - clock.monotonicMs();
  const record: PodRecord = {
    version: VERSION,
    // Whole seconds, so that the text changes only when the clock was set.
    ends: [...ends].map(([id, { killAtMs, hook }]) => [id, Math.round((sinceEpoch + killAtMs) / 1000) * 1000, hook]),
    failedPostStart: [...failedPostStart],
    backOffs: [...backOffs],
    restartDelays: [...restartDelays],
    eviction,
    machineStart,
  };
  return JSON.stringify(record);
}

/**
 * Adds what a record says to the memory of a worker that has not planned yet, and returns the pod's eviction. A record of another version, or
 * one that was written only in part, counts as none. No back-off becomes longer than it was: a machine may start with a clock that is behind.
 * As in the kubelet, a restart of the machine ends all delays.
 */
export function recall(text: string, memory: WorkerMemory, clock: Clock, machineStart: string): Eviction | undefined {
  const record = parse(text);
  if (record === undefined) return undefined;
  const { ends, failedPostStart, backOffs, restartDelays, eviction } = record;
  const sinceEpoch = clock.now() - clock.monotonicMs();
  for (const [id, killAt, hook] of ends) memory.ends.set(id, { killAtMs: killAt - sinceEpoch, hook });
  for (const id of failedPostStart) memory.failedPostStart.add(id);
  if ((record.machineStart ?? machineStart) !== machineStart) return eviction;
  for (const [name, entry] of backOffs) {
    const latest = clock.now() + entry.retryAt - entry.failedAt;
    memory.backOffs.set(name, { ...entry, retryAt: Math.min(entry.retryAt, latest) });
  }
  memory.restartDelays = new Map(restartDelays);
  return eviction;
}

function parse(text: string): PodRecord | undefined {
  if (text === '') return undefined;
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const record = found as PodRecord | null;
  return record?.version === VERSION ? record : undefined;
}
