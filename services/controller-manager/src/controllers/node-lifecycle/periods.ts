import type { Lease, Node } from '@gantry/objects';
import { Heartbeats } from './heartbeats.ts';

/** The duration of an agent's Lease with the default interval. */
const AGENT_LEASE_SECONDS = 4;
/** Kubernetes' default grace period (`--node-monitor-grace-period`): a kubelet renews its Lease of 40 s every 10 s. */
const KUBERNETES_GRACE_MS = 50_000;
/** Kubernetes' grace period for a node without any status. It has no pods yet, so a shorter one is not needed. */
const STARTUP_GRACE_MS = 60_000;

/**
 * How long nodes may be silent, depending on whether their Lease is renewed as often as an agent's. A node without a Lease, or with a
 * longer one such as a kubelet's, gets Kubernetes' grace period.
 */
export class Periods {
  readonly #graceMs: number;
  readonly #frequent: Heartbeats;
  readonly #seldom: Heartbeats;
  readonly #starting: Heartbeats;
  readonly #leases = new Map<string, Lease>();

  /** `graceMs` is the grace period of agents; others get at least that. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
    this.#frequent = new Heartbeats(graceMs);
    this.#seldom = new Heartbeats(Math.max(graceMs, KUBERNETES_GRACE_MS));
    this.#starting = new Heartbeats(Math.max(graceMs, STARTUP_GRACE_MS));
  }

  /** The node's Lease, or else the last one. The removal of a Lease is no sign of life, as in Kubernetes. */
  lastLease(node: string, lease: Lease | undefined): Lease | undefined {
    if (lease !== undefined) this.#leases.set(node, lease);
    return lease ?? this.#leases.get(node);
  }

  /** The heartbeats of nodes like this one. Removes the node from the other ones. */
  of(node: Node, lease: Lease | undefined): Heartbeats {
    const own = this.#choose(node, lease);
    for (const other of this.#all()) if (other !== own) other.forget(node.metadata.name ?? '');
    return own;
  }

  /** Forgets everything; see `Heartbeats`. */
  reset(): void {
    this.#leases.clear();
    for (const heartbeats of this.#all()) heartbeats.reset();
  }

  forget(node: string): void {
    this.#leases.delete(node);
    for (const heartbeats of this.#all()) heartbeats.forget(node);
  }

  /** Records evidence that the API stores and reports heartbeats. */
  viewed(nowMs: number): void {
    for (const heartbeats of this.#all()) heartbeats.viewed(nowMs);
  }

  /** Records that no heartbeat can be stored now. */
  interrupted(): void {
    for (const heartbeats of this.#all()) heartbeats.interrupted();
  }

  #all(): readonly Heartbeats[] {
    return [this.#frequent, this.#seldom, this.#starting];
  }

  #choose(node: Node, lease: Lease | undefined): Heartbeats {
    if (stageOf(node) === 'starting') return this.#starting;
    const seconds = lease?.spec?.leaseDurationSeconds ?? Number.POSITIVE_INFINITY;
    return seconds <= Math.max(AGENT_LEASE_SECONDS, this.#graceMs / 1000) ? this.#frequent : this.#seldom;
  }
}

/** Whether a node's agent has reported a status. */
export function stageOf({ status }: Node): 'starting' | 'started' {
  return status?.conditions?.some(({ type }) => type === 'Ready') === true ? 'started' : 'starting';
}
