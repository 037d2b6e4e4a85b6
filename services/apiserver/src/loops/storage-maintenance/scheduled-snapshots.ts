import { type Clock, ControlLoop, errorMessage, formatTime, type Instant, type Random } from '@gantry/base';
import { type Etcd, EtcdError } from '@gantry/etcd';
import type { Logger } from '@gantry/service';
import { ensureRoom, listSnapshots, pruneSnapshots, type StoredSnapshot, writeSnapshot } from './snapshot-file.ts';

export interface SnapshotSchedule {
  /** The folder, which all apiservers of the host share. */
  readonly folder: string;
  /** Above 0. */
  readonly everyMs: number;
  /** How many are kept, at least 1. */
  readonly keep: number;
  readonly clusterId: string;
  /** Ids of the keys under which values in etcd may be sealed. */
  readonly sealingKeys: () => Promise<readonly string[]>;
  /** Called with the time of the newest snapshot: when this process becomes the owner, and after each success. */
  readonly onSnapshot: (takenAt: Instant) => void;
  readonly onFailure: (reason: string, signal: AbortSignal) => Promise<void>;
  readonly log: Logger;
}

const RETRY = { initialMs: 60_000, maxMs: 1_800_000 };
const STATUS_TIMEOUT_MS = 5000;

/**
 * Takes a snapshot whenever the newest one of the folder is older than the interval, until aborted. Only the owner of maintenance does it.
 * The folder tells a new owner when the next one is due. A failed one is repeated with back-off.
 */
export async function keepSnapshots(
  etcd: Etcd,
  schedule: SnapshotSchedule,
  { clock, random }: { readonly clock: Clock; readonly random: Random },
  signal: AbortSignal,
): Promise<void> {
  const { onFailure, log } = schedule;
  await new ControlLoop({
    name: 'scheduled-snapshots',
    clock,
    random,
    retry: RETRY,
    onError: (error, failures) => log.warn({ reason: errorMessage(error), failures }, 'the scheduled snapshot failed'),
    round: async () => {
      try {
        return await snapshotWhenDue(etcd, schedule, clock, signal);
      } catch (error) {
        if (signal.aborted) throw error;
        await onFailure(errorMessage(error), signal);
        throw error;
      }
    },
  }).run(signal);
}

/** Returns the time until the next one is due. */
async function snapshotWhenDue(
  etcd: Etcd,
  schedule: SnapshotSchedule,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  const { folder, everyMs, keep, onSnapshot } = schedule;
  const now = clock.now();
  const [newest] = await listSnapshots(folder, now);
  // One with a time in the future says nothing of when the next one is due.
  if (newest !== undefined && newest.takenAt <= now) {
    onSnapshot(newest.takenAt);
    const dueInMs = newest.takenAt + everyMs - now;
    if (dueInMs > 0) return dueInMs;
  }
  const { takenAt } = await takeSnapshot(etcd, schedule, clock, signal);
  onSnapshot(takenAt);
  await pruneSnapshots(folder, keep, clock.now());
  return everyMs;
}

/** Asks one member after the other until one has sent its whole state. Throws the last error. */
async function takeSnapshot(
  etcd: Etcd,
  { folder, clusterId, sealingKeys }: SnapshotSchedule,
  clock: Clock,
  signal: AbortSignal,
): Promise<StoredSnapshot> {
  for (let member = 0; ; member++) {
    try {
      const { revision, dbSizeBytes } = await etcd.maintenance.status({ signal, timeoutMs: STATUS_TIMEOUT_MS, member });
      await ensureRoom(folder, dbSizeBytes);
      const facts = {
        ...({ format: 1, clusterId, takenAt: formatTime(clock.now()), revision, keys: 'left-out' } as const),
        sealingKeys: await sealingKeys(),
      };
      return await writeSnapshot(folder, facts, etcd.maintenance.snapshot({ signal, member }), signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof EtcdError) || member + 1 >= etcd.memberCount) throw error;
    }
  }
}
