import type { Node } from '@gantry/objects';
import { EvictionLimiter } from './eviction-limiter.ts';
import { awaitsEviction, isEvicting, type ObservedNode } from './plan.ts';
import { evictionRate, type EvictionRates, zoneHealths, zoneOf } from './zones.ts';

/** What is known about a node when its pods may have to be evicted. */
export interface EvictionCase {
  readonly node: Node;
  readonly heartbeat: ObservedNode['heartbeat'];
  /** All nodes, this one included. */
  readonly nodes: () => readonly Node[];
}

export interface EvictionResponse {
  readonly eviction: ObservedNode['eviction'];
  /** When to ask again; undefined when the answer stands. */
  readonly waitMs?: number;
  /** No node is ready since just now: the nodes that are tainted so have to be looked at. */
  readonly stopsOthers: boolean;
}

/** The state of a zone may change at any time, so an answer that is not final holds no longer. */
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

  /** Costs nothing for a node that is well; counts all nodes for any other. */
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
