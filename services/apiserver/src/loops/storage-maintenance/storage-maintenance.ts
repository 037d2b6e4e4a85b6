import { backoffMs, type Clock, ControlLoop, errorMessage, lead, pause, type Random } from '@gantry/base';
import {
  createElection,
  electionKeyOf,
  type Etcd,
  EtcdError,
  isEtcdError,
  type KeyValue,
  type MemberStatus,
  type Operation,
  prefixEnd,
} from '@gantry/etcd';
import type { LeaseTimes, Logger } from '@gantry/service';
import { aliveKeyOf, COMMIT_ROOT, DELETED_ROOT } from '../../storage/keys.ts';
import { keepSnapshots, type SnapshotSchedule } from './scheduled-snapshots.ts';
import {
  compactionMark,
  type GuardedKey,
  isCrowded,
  isFull,
  type MaintenanceAction,
  planMaintenance,
  type RoundMark,
  RoundSchedule,
} from './maintenance-plan.ts';

/** Dependencies and intervals of the maintenance. */
export interface MaintenanceOptions extends LeaseTimes {
  readonly etcd: Etcd;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The process name in the keys of this process's commit lanes. */
  readonly process: string;
  /** Time between rounds; five minutes by default. */
  readonly intervalMs?: number;
  /** For how long history is kept at least, unless etcd is full or crowded; as long as between two rounds by default. */
  readonly historyMs?: number;
  /** The quota of each member in bytes. */
  readonly quotaBytes: number;
  /** Time between checks of the members; 30 seconds by default. Those that every apiserver makes have a jitter of one half. */
  readonly fullCheckMs?: number;
  /** Absent: no snapshots are taken. */
  readonly snapshots?: SnapshotSchedule | undefined;
  /** See `createElection`. */
  readonly onLease?: (ttlMs: number) => void;
  readonly onAction?: (action: MaintenanceAction) => void;
  readonly onError?: (reason: string) => void;
  /** Called at each check, in every apiserver, with the status of each member by its index; undefined for a silent one. */
  readonly onStatus?: (members: readonly (MemberStatus | undefined)[], signal: AbortSignal) => Promise<void>;
}

/** The name of the election. */
export const STORAGE_OWNER = 'etcd-maintenance';
const INTERVAL_MS = 300_000;
const FULL_CHECK_MS = 30_000;
const ALIVE_TTL_MS = 60_000;
const CALL_TIMEOUT_MS = 5000;
const KEYS_PER_TRANSACTION = 100;
const RETRY = { initialMs: 500, maxMs: 10_000 };

/**
 * Keeps the key that marks this process as alive. In the elected apiserver, it also maintains etcd: compacts history, removes the keys
 * of ended processes, and defragments. Runs until aborted. Failures are reported and retried.
 */
export async function runStorageMaintenance(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  await Promise.all([
    laneKeeper(options).run(signal),
    maintainWhileElected(options, signal),
    watchMembers(options, signal),
  ]);
}

/**
 * Looks at the members: reports their status, and frees space in a full etcd that has no owner of maintenance. A full etcd grants no lease,
 * so no owner can be elected. Several apiservers may do this at the same time: each step may be repeated, and each round first checks
 * whether it is still needed.
 */
async function watchMembers(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, fullCheckMs = FULL_CHECK_MS, onError } = options;
  const every = { initialMs: fullCheckMs, maxMs: fullCheckMs, jitter: 0.5 };
  while (!signal.aborted) {
    try {
      // A silent member is reported by rounds only, since this check runs often.
      const members = await memberStatuses({ etcd: options.etcd }, signal);
      await runRescue(options, members, signal);
      await options.onStatus?.(members, signal);
    } catch (error) {
      if (!signal.aborted) onError?.(errorMessage(error));
    }
    await pause(clock, backoffMs(every, 1, random), signal);
  }
}

/** Runs a maintenance round if members are full and etcd has no owner of maintenance. Returns whether that was needed. */
export async function runRescue(
  options: MaintenanceOptions,
  members: readonly (MemberStatus | undefined)[],
  signal: AbortSignal,
): Promise<'needed' | 'not-needed'> {
  if (!isAnyFull(members)) return 'not-needed';
  const request = { key: electionKeyOf(STORAGE_OWNER), fields: 'count' } as const;
  const { count } = await options.etcd.kv.range(request, { signal, timeoutMs: CALL_TIMEOUT_MS });
  if (count > 0) return 'not-needed';
  await runMaintenanceRound(options, undefined, signal);
  return 'needed';
}

/** Members that do not respond count as not full. */
function isAnyFull(members: readonly (MemberStatus | undefined)[]): boolean {
  return members.some((member) => member !== undefined && isFull(member));
}

/** Keeps the key that shows that this process is alive. Without the key, another process may remove this process's lanes. */
function laneKeeper({ etcd, clock, process, onError }: MaintenanceOptions): ControlLoop {
  let lease: string | undefined;
  return new ControlLoop({
    clock,
    intervalMs: ALIVE_TTL_MS / 3,
    retry: RETRY,
    onError: (error) => {
      if (isEtcdError(error, 'lease-gone')) lease = undefined;
      onError?.(errorMessage(error));
    },
    round: async (signal) => {
      const call = { signal, timeoutMs: CALL_TIMEOUT_MS };
      if (lease !== undefined) {
        await etcd.leases.keepAlive(lease, call);
        return;
      }
      const granted = await etcd.leases.grant(ALIVE_TTL_MS, call);
      const put: Operation = { kind: 'put', key: aliveKeyOf(process), value: Buffer.alloc(0), lease: granted.id };
      await etcd.kv.transact({ compare: [], success: [put], failure: [] }, call);
      lease = granted.id;
    },
  });
}

async function maintainWhileElected(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { clock, intervalMs = INTERVAL_MS, fullCheckMs = FULL_CHECK_MS } = options;
  const election = createElection({
    ...options,
    component: STORAGE_OWNER,
    identity: options.process,
    ttlMs: options.leaseTtlMs,
    maxTtlMs: options.leaseMaxTtlMs,
  });
  const memory: RoundMemory = {
    schedule: new RoundSchedule(intervalMs, fullCheckMs, clock.monotonicMs()),
    marks: [],
  };
  await lead({ ...options, election, act: (_term, ended) => maintain(options, memory, ended) }, signal);
}

/** Kept between the terms of a process: rounds must not begin anew with each short term. */
interface RoundMemory {
  readonly schedule: RoundSchedule;
  marks: readonly RoundMark[];
}

async function maintain(options: MaintenanceOptions, memory: RoundMemory, signal: AbortSignal): Promise<void> {
  const { etcd, snapshots } = options;
  await Promise.all([
    runRounds(options, memory, signal),
    ...(snapshots === undefined ? [] : [keepSnapshots(etcd, snapshots, options, signal)]),
  ]);
}

/**
 * Runs one round per interval. The first one is due one interval after the process has started, and begins no sooner than a check after
 * the election, when the actions of a former owner have ended. A full or crowded etcd gets an earlier round: it may have become so since
 * the last round, or a member with a full file may have come back.
 */
async function runRounds(options: MaintenanceOptions, memory: RoundMemory, signal: AbortSignal): Promise<void> {
  const { etcd, clock, quotaBytes, intervalMs = INTERVAL_MS, fullCheckMs = FULL_CHECK_MS, onError } = options;
  const stepMs = Math.min(intervalMs, fullCheckMs);
  const keep = { keepMs: options.historyMs ?? intervalMs, toleranceMs: stepMs };
  // Watches that resume a moment later, and pages of lists, find what they need.
  const keepWhileCrowded = { keepMs: stepMs, toleranceMs: stepMs };
  await pause(clock, stepMs, signal);
  const rounds = new ControlLoop({
    clock,
    intervalMs: stepMs,
    onError: (error) => onError?.(errorMessage(error)),
    round: async () => {
      const members = (await memberStatuses({ etcd }, signal)).filter((member) => member !== undefined);
      const isPressed = members.some((member) => isFull(member) || isCrowded(member, quotaBytes));
      const atMs = clock.monotonicMs();
      if (memory.schedule.isDue(atMs, isPressed)) {
        const { revision, kept } = compactionMark(memory.marks, atMs, isPressed ? keepWhileCrowded : keep);
        await runMaintenanceRound(options, revision, signal);
        memory.marks = kept;
      }
      const revision = Math.max(...members.map((one) => one.revision));
      if (members.length > 0) memory.marks = [...memory.marks, { revision, atMs }];
    },
  });
  await rounds.run(signal);
}

/**
 * Runs one round: observe, plan, act. Members that are down are left out. A failed action is reported, and the other actions still run.
 * Returns the newest revision.
 */
export async function runMaintenanceRound(
  options: MaintenanceOptions,
  previousRevision: number | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { etcd } = options;
  const list = async (prefix: string): Promise<{ readonly revision: number; readonly kvs: readonly KeyValue[] }> => {
    const request = { key: prefix, rangeEnd: prefixEnd(prefix), fields: 'keys' } as const;
    return etcd.kv.range(request, { signal, timeoutMs: CALL_TIMEOUT_MS });
  };
  const members = await memberStatuses(options, signal);
  const [commitKeys, deletionRecords] = await Promise.all([list(COMMIT_ROOT), list(`${DELETED_ROOT}/`)]);
  const { revision } = deletionRecords;
  const observed = {
    revision,
    previousRevision,
    members,
    commitKeys: commitKeys.kvs,
    deletionRecords: deletionRecords.kvs,
  };
  for (const action of planMaintenance(observed)) {
    options.onAction?.(action);
    await attempt(options, action.kind, signal, () => execute(etcd, action, signal));
  }
  return revision;
}

/** The status of each member, by its index. A member that does not respond is reported and has undefined. */
export function memberStatuses(
  options: Pick<MaintenanceOptions, 'etcd' | 'onError'>,
  signal: AbortSignal,
): Promise<readonly (MemberStatus | undefined)[]> {
  const { etcd } = options;
  return Promise.all(
    Array.from({ length: etcd.memberCount }, (_, member) =>
      attempt(options, `status of member ${member}`, signal, () =>
        etcd.maintenance.status({ signal, timeoutMs: CALL_TIMEOUT_MS, member }),
      ),
    ),
  );
}

/** Returns the result of a step. If etcd rejects it or does not respond, reports the error and returns undefined. */
async function attempt<T>(
  { onError }: Pick<MaintenanceOptions, 'onError'>,
  what: string,
  signal: AbortSignal,
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof EtcdError)) throw error;
    onError?.(`${what}: ${error.message}`);
    return undefined;
  }
}

async function execute(etcd: Etcd, action: MaintenanceAction, signal: AbortSignal): Promise<void> {
  switch (action.kind) {
    case 'compact':
      return etcd.maintenance.compact(
        action.revision,
        action.member === undefined ? { signal, timeoutMs: CALL_TIMEOUT_MS } : { signal, member: action.member },
      );
    case 'defragment':
      return etcd.maintenance.defragment({ signal, member: action.member });
    case 'disarm':
      return etcd.maintenance.disarm({ signal, timeoutMs: CALL_TIMEOUT_MS });
    case 'remove-keys':
      for (let i = 0; i < action.keys.length; i += KEYS_PER_TRANSACTION) {
        const success = action.keys.slice(i, i + KEYS_PER_TRANSACTION).map(removalOf);
        await etcd.kv.transact({ compare: [], success, failure: [] }, { signal, timeoutMs: CALL_TIMEOUT_MS });
      }
  }
}

function removalOf({ key, modRevision, absentKey }: GuardedKey): Operation {
  return {
    kind: 'transaction',
    compare: [
      { key, target: 'mod-revision', equals: modRevision },
      ...(absentKey === undefined ? [] : [{ key: absentKey, target: 'create-revision', equals: 0 } as const]),
    ],
    success: [{ kind: 'delete', key }],
    failure: [],
  };
}
