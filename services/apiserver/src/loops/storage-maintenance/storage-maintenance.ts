import { type Clock, errorMessage, pause, type Random } from '@gantry/base';
import { createElection, type Etcd, isEtcdError, type KeyValue, type Operation, prefixEnd } from '@gantry/etcd';
import { aliveKeyOf, COMMIT_ROOT, DELETED_ROOT } from '../../storage/keys.ts';
import { ControlLoop } from '../control-loop.ts';
import { type GuardedKey, type MaintenanceAction, planMaintenance } from './maintenance-plan.ts';

export interface MaintenanceOptions {
  readonly etcd: Etcd;
  readonly clock: Clock;
  readonly random: Random;
  /** The name under which this process's commit lanes stand. */
  readonly process: string;
  /** Between rounds; five minutes when absent. */
  readonly intervalMs?: number;
  readonly onAction?: (action: MaintenanceAction) => void;
  readonly onError?: (reason: string) => void;
}

const INTERVAL_MS = 300_000;
const OWNER_TTL_MS = 15_000;
const ALIVE_TTL_MS = 60_000;
const CALL_TIMEOUT_MS = 5000;
const KEYS_PER_TRANSACTION = 100;
const RETRY = { initialMs: 500, maxMs: 10_000 };

/**
 * Keeps this process's claim on its commit lanes and, in the apiserver that is elected, maintains etcd: compacts history,
 * removes what ended processes left, defragments. Runs until aborted; failures are reported and retried.
 */
export async function runStorageMaintenance(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  await Promise.all([laneKeeper(options).run(signal), maintainWhileElected(options, signal)]);
}

/** Holds the key without which another process may take over this one's lanes. */
function laneKeeper({ etcd, clock, process, onError }: MaintenanceOptions): ControlLoop {
  let lease: string | undefined;
  return new ControlLoop({
    name: 'commit-lanes',
    clock,
    intervalMs: ALIVE_TTL_MS / 3,
    retry: RETRY,
    onError: (error) => {
      if (isEtcdError(error, 'lease-gone')) lease = undefined;
      onError?.(errorMessage(error));
    },
    reconcile: async (signal) => {
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
  const election = createElection({
    ...options,
    component: 'etcd-maintenance',
    identity: options.process,
    ttlMs: OWNER_TTL_MS,
  });
  let owning: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;
  const stop = async (): Promise<void> => {
    owning?.stop.abort();
    await owning?.done;
    owning = undefined;
  };
  for await (const event of election.campaign(signal)) {
    await stop();
    if (event.kind === 'lost' || event.kind === 'suspended') continue;
    const controller = new AbortController();
    owning = { stop: controller, done: runRounds(options, controller.signal) };
  }
  await stop();
}

/** Rounds, an interval apart; the first begins one interval after the election. */
async function runRounds(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { clock, intervalMs = INTERVAL_MS, onError } = options;
  let previousRevision: number | undefined;
  await pause(clock, intervalMs, signal);
  const rounds = new ControlLoop({
    name: 'etcd-maintenance',
    clock,
    intervalMs,
    retry: { initialMs: intervalMs, maxMs: intervalMs },
    onError: (error) => onError?.(errorMessage(error)),
    reconcile: async () => {
      previousRevision = await runMaintenanceRound(options, previousRevision, signal);
    },
  });
  await rounds.run(signal);
}

/** One round: observe, plan, act. Gives the revision that the next round may forget. */
export async function runMaintenanceRound(
  options: MaintenanceOptions,
  previousRevision: number | undefined,
  signal: AbortSignal,
): Promise<number> {
  const { etcd } = options;
  const list = async (prefix: string): Promise<readonly KeyValue[]> => {
    const request = { key: prefix, rangeEnd: prefixEnd(prefix), fields: 'keys' } as const;
    return (await etcd.kv.range(request, { signal, timeoutMs: CALL_TIMEOUT_MS })).kvs;
  };
  const members = await Promise.all(
    Array.from({ length: etcd.memberCount }, (_, member) =>
      etcd.maintenance.status({ signal, timeoutMs: CALL_TIMEOUT_MS, member }),
    ),
  );
  const [commitKeys, deletionRecords] = await Promise.all([list(COMMIT_ROOT), list(`${DELETED_ROOT}/`)]);
  const revision = Math.max(...members.map((member) => member.revision));
  for (const action of planMaintenance({ revision, previousRevision, members, commitKeys, deletionRecords })) {
    options.onAction?.(action);
    await execute(etcd, action, signal);
  }
  return revision;
}

async function execute(etcd: Etcd, action: MaintenanceAction, signal: AbortSignal): Promise<void> {
  switch (action.kind) {
    case 'compact':
      return etcd.maintenance.compact(action.revision, { signal, timeoutMs: CALL_TIMEOUT_MS });
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
