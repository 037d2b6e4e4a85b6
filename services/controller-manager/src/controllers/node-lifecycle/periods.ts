import type { Lease, Node } from '@gantry/objects';
import { Heartbeats } from './heartbeats.ts';

/** How long the Lease of an agent lasts that has not been given another interval. */
const AGENT_LEASE_SECONDS = 4;
/** Kubernetes' default grace (`--node-monitor-grace-period`): a kubelet renews every 10 s a Lease of 40 s. */
const KUBERNETES_GRACE_MS = 50_000;
/** Kubernetes' time for a node without any status. It has no pods yet, so there is no reason for less. */
const STARTUP_GRACE_MS = 60_000;

/**
 * How long nodes may be silent: by whether their Lease is renewed as often as an agent's. A node without a Lease, and one whose
 * Lease lasts longer, as a kubelet's does, get Kubernetes' grace.
 */
export class Periods {
  readonly #graceMs: number;
  readonly #frequent: Heartbeats;
  readonly #seldom: Heartbeats;
  readonly #starting: Heartbeats;

  /** `graceMs` is the grace of agents; others get no less. */
  constructor(graceMs: number) {
    this.#graceMs = graceMs;
    this.#frequent = new Heartbeats(graceMs);
    this.#seldom = new Heartbeats(Math.max(graceMs, KUBERNETES_GRACE_MS));
    this.#starting = new Heartbeats(Math.max(graceMs, STARTUP_GRACE_MS));
  }

  /** The heartbeats of nodes like this one. It is forgotten among the others. */
  of(node: Node, lease: Lease | undefined): Heartbeats {
    const own = this.#choose(node, lease);
    for (const other of this.#all()) if (other !== own) other.forget(node.metadata.name ?? '');
    return own;
  }

  /** Forgets everything; see `Heartbeats`. */
  reset(): void {
    for (const heartbeats of this.#all()) heartbeats.reset();
  }

  forget(node: string): void {
    for (const heartbeats of this.#all()) heartbeats.forget(node);
  }

  /** The API stores heartbeats and reports them. */
  viewed(nowMs: number): void {
    for (const heartbeats of this.#all()) heartbeats.viewed(nowMs);
  }

  /** No heartbeat can be stored now. */
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
