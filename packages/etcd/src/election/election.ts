import { backoffMs, type BackoffOptions, type Clock, errorMessage, pause, type Random } from '@gantry/base';
import { EtcdError, isEtcdError } from '../etcd-error.ts';
import type { CallOptions, Etcd, Lease, Operation } from '../ports.ts';
import { holdLease } from './lease-holder.ts';

/** One leadership: (incarnation, epoch) never recurs. Every write of a leader carries it, and etcd refuses those of an older one. */
export interface Term {
  readonly electionKey: string;
  /** Create revision of the election key: a leader acts only when its caches have reached it. */
  readonly epoch: number;
  readonly incarnation: string;
}

/**
 * What a campaign tells: leading begins, is uncertain (`suspended`: act no more for now), goes on in the same term, or is over.
 * After `lost` the campaign goes on by itself.
 */
export type ElectionEvent =
  | ({ readonly kind: 'elected' } & Term)
  | { readonly kind: 'lost' }
  | { readonly kind: 'suspended' }
  | { readonly kind: 'resumed' };

/** What else happens, for logs: who leads instead, and why something is tried again. */
export type ElectionNotice =
  | { readonly kind: 'following'; readonly leader: string }
  | { readonly kind: 'retrying'; readonly reason: string };

export interface ElectionOptions {
  readonly etcd: Pick<Etcd, 'memberCount' | 'kv' | 'watcher' | 'leases'>;
  readonly clock: Clock;
  readonly random: Random;
  /** `kube-scheduler`: the key is `/gantry/elections/<component>`. */
  readonly component: string;
  /** Who campaigns, unique per process: what others see as the leader. */
  readonly identity: string;
  readonly ttlMs: number;
  readonly onNotice?: (notice: ElectionNotice) => void;
}

/** An election to take part in. */
export interface Election {
  /**
   * Campaigns until aborted, then resigns, so that the next leads within milliseconds. The lease is renewed on its own, however long
   * an event is being handled; the next event comes when the one before has been.
   */
  campaign(signal: AbortSignal): AsyncIterable<ElectionEvent>;
}

const ELECTIONS = '/gantry/elections/';
const INCARNATION_KEY = '/gantry/incarnation';
const RETRY: BackoffOptions = { initialMs: 100, maxMs: 1000 };
const CALL_TIMEOUT_MS = 1000;

/** Takes part in the election of a component's leader. Nothing that happens to etcd ends a campaign. */
export function createElection(options: ElectionOptions): Election {
  return { campaign: (signal) => runCampaign(options, signal) };
}

async function* runCampaign(options: ElectionOptions, signal: AbortSignal): AsyncGenerator<ElectionEvent> {
  let failures = 0;
  while (!signal.aborted) {
    try {
      await waitForVacancy(options, signal);
      const won = await tryToWin(options, signal);
      if (won === undefined) continue;
      failures = 0;
      yield* serve(options, won, signal);
    } catch (error) {
      if (signal.aborted) return;
      options.onNotice?.({ kind: 'retrying', reason: errorMessage(error) });
      failures += 1;
      await pause(options.clock, backoffMs(RETRY, failures, options.random), signal);
    }
  }
}

export function electionKeyOf(component: string): string {
  return ELECTIONS + component;
}

/** Returns when nobody holds the key. */
async function waitForVacancy(options: ElectionOptions, signal: AbortSignal): Promise<void> {
  const key = electionKeyOf(options.component);
  const { revision, kvs } = await options.etcd.kv.range({ key }, { signal, timeoutMs: CALL_TIMEOUT_MS });
  const holder = kvs[0];
  if (holder === undefined) return;
  options.onNotice?.({ kind: 'following', leader: Buffer.from(holder.value).toString() });
  const stop = new AbortController();
  const watch = options.etcd.watcher.watch(
    { key, startRevision: revision + 1 },
    AbortSignal.any([signal, stop.signal]),
  );
  try {
    for await (const item of watch) {
      if (item.kind === 'compacted') return;
      if (item.kind === 'events' && item.events.some((event) => event.kind === 'delete')) return;
    }
  } finally {
    stop.abort();
  }
}

interface Won {
  readonly term: Term;
  readonly lease: Lease;
  /** Monotonic time at which the lease was asked for. */
  readonly sentAtMs: number;
}

/** Tries once to take the key under a fresh lease; undefined when somebody else was faster. */
async function tryToWin(options: ElectionOptions, signal: AbortSignal): Promise<Won | undefined> {
  const { etcd, clock, identity, ttlMs, component } = options;
  const key = electionKeyOf(component);
  const call: CallOptions = { signal, timeoutMs: CALL_TIMEOUT_MS };
  const sentAtMs = clock.monotonicMs();
  const lease = await etcd.leases.grant(ttlMs, call);
  const read: readonly Operation[] = [
    { kind: 'range', key },
    { kind: 'range', key: INCARNATION_KEY },
  ];
  try {
    for (;;) {
      const take: Operation = { kind: 'put', key, value: Buffer.from(identity), lease: lease.id };
      const result = await etcd.kv
        .transact({ compare: [vacant(key)], success: [take, ...read], failure: read }, call)
        .catch((error: unknown) => {
          // It may have landed: asking again tells, since the lease is ours alone.
          if (isEtcdError(error, 'outcome-unknown')) return undefined;
          throw error;
        });
      if (result === undefined) continue;
      const [holder, incarnation] = result.results.flatMap((inner) => (inner.kind === 'range' ? [inner.kvs[0]] : []));
      if (holder?.lease !== lease.id) break;
      if (incarnation === undefined) throw new EtcdError('unavailable', `${INCARNATION_KEY} has not been written yet`);
      const term = {
        electionKey: key,
        epoch: holder.createRevision,
        incarnation: Buffer.from(incarnation.value).toString(),
      };
      return { term, lease, sentAtMs };
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

/** Tells what becomes of a term, until it is lost or `signal` is aborted. */
async function* serve(options: ElectionOptions, won: Won, signal: AbortSignal): AsyncGenerator<ElectionEvent> {
  const { term } = won;
  const held = holdLease({ ...options, key: term.electionKey, epoch: term.epoch }, won.lease, won.sentAtMs);
  const release = () => held.release();
  signal.addEventListener('abort', release, { once: true });
  if (signal.aborted) release();
  try {
    yield { kind: 'elected', ...term };
    for await (const state of held.states) {
      if (state === 'gone') break;
      yield { kind: state === 'standing' ? 'resumed' : 'suspended' };
    }
    if (!signal.aborted) yield { kind: 'lost' };
  } finally {
    signal.removeEventListener('abort', release);
    held.release();
    await giveUp(options, won.lease);
  }
}

/** Gives a lease back, at any member that answers; one that none takes back runs out by itself. */
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
