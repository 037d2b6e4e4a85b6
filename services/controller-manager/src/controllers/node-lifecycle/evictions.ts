import type { Node } from '@gantry/objects';
import { awaitsEviction, isEvicting, type ObservedNode } from './plan.ts';
import { evictionRate, type EvictionRates, zoneHealths, zoneOf } from './zones.ts';

/** A node whose pods may have to be evicted. */
interface EvictionCase {
  readonly node: Node;
  readonly heartbeat: ObservedNode['heartbeat'];
  /** All nodes, including this one. */
  readonly nodes: () => readonly Node[];
}

interface EvictionResponse {
  readonly eviction: ObservedNode['eviction'];
  /** Milliseconds until the next check; undefined if the result is final. */
  readonly waitMs?: number;
  /** No node is ready any more: nodes with the eviction taint must be reconciled. */
  readonly stopsOthers: boolean;
}

/** The interval of checks while a result is not final, because the state of a zone may change at any time. */
const RECHECK_MS = 500;

/** Decides whether the pods of a lost node are evicted now: by the health of its zone and of all zones, and their rates. */
export class Evictions {
  readonly #rates: EvictionRates;
  readonly #limiter = new EvictionLimiter();
  #state: 'going-on' | 'stopped' = 'going-on';

  constructor(rates: EvictionRates) {
    this.#rates = rates;
  }

  reset(): void {
    this.#limiter.reset();
    this.#state = 'going-on';
  }

  forget(name: string): void {
    this.#limiter.forget(name);
  }

  /** Decides about a node. Cheap for a healthy node; counts all nodes for any other. */
  ask({ node, heartbeat, nodes }: EvictionCase, nowMs: number): EvictionResponse {
    const { name = '' } = node.metadata;
    const awaits = awaitsEviction(node, heartbeat);
    if (!awaits && !isEvicting(node)) {
      this.#limiter.forget(name);
      return { eviction: 'allowed', stopsOthers: false };
    }
    const healths = zoneHealths(nodes(), (other) =>
      other.metadata.name === name ? heartbeat === 'heard' && isReady(node) : isReady(other),
    );
    const perSecond = evictionRate(zoneOf(node), healths, this.#rates);
    const before = this.#state;
    this.#state = perSecond === undefined ? 'stopped' : 'going-on';
    if (perSecond === undefined) {
      this.#limiter.forget(name);
      return { eviction: 'stopped', waitMs: RECHECK_MS, stopsOthers: before !== 'stopped' };
    }
    const waitMs = awaits ? this.#limiter.waitMs(name, zoneOf(node), perSecond, nowMs) : 0;
    if (waitMs === 0) return { eviction: 'allowed', stopsOthers: false };
    return { eviction: 'delayed', waitMs: Math.min(waitMs, RECHECK_MS), stopsOthers: false };
  }
}

export function isReady({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: of }) => type === 'Ready' && of === 'True') ?? false;
}

/** One token per zone, which is refilled at the zone's rate, like Kubernetes' limiter with a burst of 1. */
export class EvictionLimiter {
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();
  /** Nodes whose eviction was allowed: a failed write may be repeated without a new token. */
  readonly #allowed = new Set<string>();

  reset(): void {
    this.#buckets.clear();
    this.#allowed.clear();
  }

  /** Call it when the node is ready or gone: its next eviction needs a token again. */
  forget(node: string): void {
    this.#allowed.delete(node);
  }

  /** Milliseconds that the eviction of a node must wait at `perSecond` nodes of its zone; 0 if allowed now, Infinity at a rate of 0. */
  waitMs(node: string, zone: string, perSecond: number, nowMs: number): number {
    if (this.#allowed.has(node)) return 0;
    const known = this.#buckets.get(zone) ?? { tokens: 1, atMs: nowMs };
    const tokens = Math.min(1, known.tokens + ((nowMs - known.atMs) / 1000) * perSecond);
    const isAllowed = tokens >= 1 && perSecond > 0;
    this.#buckets.set(zone, { tokens: isAllowed ? tokens - 1 : tokens, atMs: nowMs });
    if (isAllowed) this.#allowed.add(node);
    if (isAllowed) return 0;
    return perSecond === 0 ? Number.POSITIVE_INFINITY : ((1 - tokens) / perSecond) * 1000;
  }
}
