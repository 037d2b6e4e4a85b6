import {
  anySignal,
  backoffMs,
  type BackoffOptions,
  type Clock,
  type Election,
  type ElectionEvent,
  errorMessage,
  onAbort,
  pause,
  type Random,
  sleep,
  type Term,
} from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import type { CallOptions, Etcd, Lease, Operation } from '../ports.ts';
import { type GrantedLease, holdLease } from './lease-holder.ts';
import { LeasePace } from './lease-pace.ts';

/** Events for logs: which other process leads, and why a step is retried. */
export type ElectionNotice =
  | { readonly kind: 'following'; readonly leader: string }
  | { readonly kind: 'retrying'; readonly reason: string };

/** The component, this candidate and its etcd. */
export interface ElectionOptions {
  readonly etcd: Pick<Etcd, 'memberCount' | 'kv' | 'watcher' | 'leases'>;
  readonly clock: Clock;
  readonly random: Random;
  /** `kube-scheduler`: the key is `/gantry/elections/<component>`. */
  readonly component: string;
  /** The candidate's name, unique per process. Others see it as the name of the leader. */
  readonly identity: string;
  /** The time to live of the leader's lease. It becomes longer, up to `maxTtlMs`, while renewals are late. */
  readonly ttlMs: number;
  /** Four times `ttlMs` when absent. */
  readonly maxTtlMs?: number;
  readonly onNotice?: (notice: ElectionNotice) => void;
  /** Called with the time to live of the own lease when a term begins or the lease changes, and with 0 when the term ends. */
  readonly onLease?: (ttlMs: number) => void;
}

const ELECTIONS = '/gantry/elections/';
const INCARNATION_KEY = '/gantry/incarnation';
const RETRY: BackoffOptions = { initialMs: 100, maxMs: 1000, jitter: 0.5 };
const CALL_TIMEOUT_MS = 1000;

/**
 * Creates a candidate for leadership of a component. When its campaign ends, the next candidate leads within milliseconds. Failures of etcd
 * do not end a campaign.
 */
export function createElection(options: ElectionOptions): Election {
  const { clock, ttlMs, maxTtlMs = 4 * ttlMs } = options;
  const pace = new LeasePace({ ttlMs, maxTtlMs }, clock);
  return { campaign: (signal) => runCampaign({ ...options, pace }, signal) };
}

/** `pace` is kept between campaigns: on a slow machine, the next term begins with a long lease. */
interface CampaignOptions extends ElectionOptions {
  readonly pace: LeasePace;
}

async function* runCampaign(options: CampaignOptions, signal: AbortSignal): AsyncGenerator<ElectionEvent> {
  const { clock, random, ttlMs } = options;
  let failures = 0;
  while (!signal.aborted) {
    const sinceMs = clock.monotonicMs();
    try {
      await waitForVacancy(options, signal);
      const won = await tryToWin(options, signal);
      if (won !== undefined) yield* serve(options, won, signal);
    } catch (error) {
      if (signal.aborted) return;
      options.onNotice?.({ kind: 'retrying', reason: errorMessage(error) });
    }
    // A lost race and a term that ends at once count as failures: neither may repeat without a pause.
    failures = clock.monotonicMs() - sinceMs >= ttlMs ? 1 : failures + 1;
    await pause(clock, backoffMs(RETRY, failures, random), signal);
  }
}

/** The key that the leader of a component holds. */
export function electionKeyOf(component: string): string {
  return ELECTIONS + component;
}

/** Returns when the key does not exist. */
async function waitForVacancy(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const key = electionKeyOf(options.component);
  const { revision, kvs } = await options.etcd.kv.range({ key }, { signal, timeoutMs: CALL_TIMEOUT_MS });
  const holder = kvs[0];
  if (holder === undefined) return;
  options.onNotice?.({ kind: 'following', leader: Buffer.from(holder.value).toString() });
  const stop = new AbortController();
  using either = anySignal(signal, stop.signal);
  const watch = options.etcd.watcher.watch({ key, startRevision: revision + 1 }, either);
  try {
    for await (const item of watch) {
      if (item.kind === 'compacted') return;
      if (item.kind === 'events' && item.events.some((event) => event.kind === 'delete')) return;
    }
  } finally {
    stop.abort();
  }
}

interface Won extends GrantedLease {
  readonly term: Term;
  /** Mod revision of the incarnation's key. */
  readonly incarnationRevision: number;
}

/** Tries once to take the key under a fresh lease; undefined when another candidate was faster. */
async function tryToWin(options: CampaignOptions, signal: AbortSignal): Promise<Won | undefined> {
  const { etcd, clock, random, identity, pace, component } = options;
  const key = electionKeyOf(component);
  const call: CallOptions = { signal, timeoutMs: CALL_TIMEOUT_MS };
  const sentAtMs = clock.monotonicMs();
  const wantedMs = pace.ttlMs();
  const lease = await etcd.leases.grant(wantedMs, call);
  const read: readonly Operation[] = [
    { kind: 'range', key },
    { kind: 'range', key: INCARNATION_KEY },
  ];
  try {
    for (let failures = 0; ; ) {
      const take: Operation = { kind: 'put', key, value: Buffer.from(identity), lease: lease.id };
      const result = await etcd.kv
        .transact({ compare: [vacant(key)], success: [take, ...read], failure: read }, call)
        .catch((error: unknown) => {
          // The transaction may have been applied. A repetition finds out, because no other candidate has this lease.
          if (isEtcdError(error, 'outcome-unknown')) return undefined;
          throw error;
        });
      if (result === undefined) {
        failures += 1;
        await sleep(clock, backoffMs(RETRY, failures, random), signal);
        continue;
      }
      const [holder, incarnation] = result.results.flatMap((inner) => (inner.kind === 'range' ? [inner.kvs[0]] : []));
      if (holder?.lease !== lease.id) break;
      if (incarnation === undefined) throw new EtcdError('unavailable', `${INCARNATION_KEY} has not been written yet`);
      const term = {
        electionKey: key,
        epoch: holder.createRevision,
        incarnation: Buffer.from(incarnation.value).toString(),
      };
      const lateMs = clock.monotonicMs() - sentAtMs;
      return { term, lease, wantedMs, sentAtMs, lateMs, incarnationRevision: incarnation.modRevision };
    }
  } catch (error) {
    await giveUp(options, lease);
    throw error;
  }
  await giveUp(options, lease);
  return undefined;
}

function vacant(key: string): { readonly key: string; readonly target: 'create-revision'; readonly equals: number } {
  return { key, target: 'create-revision', equals: 0 };
}

/** Yields the events of a term until it is lost or `signal` is aborted. */
async function* serve(options: CampaignOptions, won: Won, signal: AbortSignal): AsyncGenerator<ElectionEvent> {
  const { term } = won;
  const incarnation = { key: INCARNATION_KEY, modRevision: won.incarnationRevision };
  const held = holdLease({ ...options, key: term.electionKey, epoch: term.epoch, incarnation }, won);
  using _ = onAbort(signal, () => held.release());
  try {
    yield { kind: 'elected', term };
    for await (const state of held.states) {
      if (state === 'gone') break;
      yield state === 'standing' ? { kind: 'resumed', term } : { kind: 'suspended' };
    }
    if (!signal.aborted) yield { kind: 'lost' };
  } catch (error) {
    yield { kind: 'lost' };
    throw error;
  } finally {
    held.release();
    options.onLease?.(0);
    for (const lease of held.leases) await giveUp(options, lease);
  }
}

/** Revokes a lease at any member that responds; otherwise it expires by itself. */
async function giveUp(options: ElectionOptions, lease: Lease): Promise<void> {
  const { etcd } = options;
  for (let member = 0; member < etcd.memberCount; member++) {
    try {
      await etcd.leases.revoke(lease.id, { signal: new AbortController().signal, timeoutMs: 500 });
      return;
    } catch (error) {
      if (!(error instanceof EtcdError)) throw error;
    }
  }
}
