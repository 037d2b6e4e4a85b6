import { backoffMs, type Clock, errorMessage, pause, type Random, sleep } from '@gantry/base';
import { createElection, type Etcd, isEtcdError, type KeyValue, type Operation, prefixEnd } from '@gantry/etcd';
import { aliveKeyOf, COMMIT_ROOT, DELETED_ROOT } from './keys.ts';
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
 * Keeps this process's claim on its commit lanes and, in whichever apiserver is elected, cares for etcd: forgets old history, removes what
 * dead processes left behind, gives unused space back. Runs until aborted; failures are told and tried again.
 */
export async function runMaintenance(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  await Promise.all([keepAlive(options, signal), maintainWhileElected(options, signal)]);
}

/** Holds the key that keeps the process's lanes from being taken for a dead one's. */
async function keepAlive(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  const { etcd, clock, random, process } = options;
  let lease: string | undefined;
  let failures = 0;
  while (!signal.aborted) {
    try {
      if (lease === undefined) {
        const granted = await etcd.leases.grant(ALIVE_TTL_MS, { signal, timeoutMs: CALL_TIMEOUT_MS });
        const put: Operation = { kind: 'put', key: aliveKeyOf(process), value: Buffer.alloc(0), lease: granted.id };
        await etcd.kv.transact({ compare: [], success: [put], failure: [] }, { signal, timeoutMs: CALL_TIMEOUT_MS });
        lease = granted.id;
      } else await etcd.leases.keepAlive(lease, { signal, timeoutMs: CALL_TIMEOUT_MS });
      failures = 0;
    } catch (error) {
      if (isEtcdError(error, 'lease-gone')) lease = undefined;
      failures += 1;
      if (!signal.aborted) options.onError?.(errorMessage(error));
    }
    const delayMs = failures === 0 ? ALIVE_TTL_MS / 3 : backoffMs(RETRY, failures, random);
    await pause(clock, delayMs, signal);
  }
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

/** Rounds, an interval apart; the first begins one interval after the owner was elected. */
async function runRounds(options: MaintenanceOptions, signal: AbortSignal): Promise<void> {
  let previousRevision: number | undefined;
  for (;;) {
    try {
      await sleep(options.clock, options.intervalMs ?? INTERVAL_MS, signal);
      previousRevision = await runMaintenanceRound(options, previousRevision, signal);
    } catch (error) {
      if (signal.aborted) return;
      options.onError?.(errorMessage(error));
    }
  }
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
