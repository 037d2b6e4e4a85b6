import { type Clock, formatMicroTime } from '@gantry/base';
import { pointsOf } from './framework/plugin.ts';
import type { Considered, Decision } from './plan.ts';

/** A node that a decision considered. */
export interface ShownNode {
  readonly node: string;
  /** Why the pod does not fit there: the filter, and Kubernetes' reasons. Absent where it fits. */
  readonly refusedBy?: string;
  readonly reasons?: readonly string[];
  /** Of a node that fits: the weighted sum, and of each plugin weight and points (0 to 100). Absent where there was no choice. */
  readonly score?: number;
  readonly scores?: readonly { readonly plugin: string; readonly weight: number; readonly points: number }[];
}

/** What the scheduler decided for a pod, and what it considered. */
export interface ShownDecision {
  readonly at: string;
  readonly pod: { readonly namespace: string; readonly name: string; readonly uid: string };
  /** `assigned`: the binding was sent. `nominated`: no node fits, and other pods are evicted from one. */
  readonly outcome: 'assigned' | 'refused' | 'nominated';
  /** The node of an assignment or nomination, or ''. */
  readonly node: string;
  /** Kubernetes' message of a refusal, or ''. */
  readonly message: string;
  readonly victims: readonly { readonly namespace: string; readonly name: string }[];
  /** How many nodes there are, fit, and were refused. Others were not looked at: enough fit, or the pod excludes them. */
  readonly nodeCount: number;
  readonly feasibleCount: number;
  readonly refusedCount: number;
  /** The best nodes that fit, best first, then some that were refused. */
  readonly nodes: readonly ShownNode[];
}

/** A decision without the nodes' own objects, which are large and change with each pod. */
interface Entry {
  readonly decision: Omit<ShownDecision, 'nodes'>;
  readonly feasible: Considered['feasible'];
  readonly scores: Considered['scores'];
  readonly refused: readonly ShownNode[];
}

/** Pods whose last decision is kept. */
const PODS = 500;
const FEASIBLE_SHOWN = 20;
const REFUSED_SHOWN = 100;

/** Remembers the last decision for each of the last pods. Nodes that fit are ranked only when someone asks. */
export class DecisionLog {
  readonly #clock: Clock;
  /** By the pod's key, oldest first. */
  readonly #entries = new Map<string, Entry>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(decisions: readonly Decision[]): void {
    const at = formatMicroTime(this.#clock.now());
    for (const decision of decisions) {
      if (decision.kind === 'postpone') continue;
      const { key } = decision.pod;
      this.#entries.delete(key);
      this.#entries.set(key, entryOf(decision, at));
    }
    for (const key of this.#entries.keys()) {
      if (this.#entries.size <= PODS) return;
      this.#entries.delete(key);
    }
  }

  /** The last ones without their nodes, newest first. */
  latest(count: number): readonly Omit<ShownDecision, 'nodes'>[] {
    return [...this.#entries.values()]
      .slice(-count)
      .reverse()
      .map(({ decision }) => decision);
  }

  /** All of them, newest first. */
  list(): readonly ShownDecision[] {
    return [...this.#entries.values()].reverse().map((entry) => ({ ...entry.decision, nodes: nodesOf(entry) }));
  }
}

function entryOf(decision: Decision & { readonly kind: 'assign' | 'refuse' }, at: string): Entry {
  const { pod, considered } = decision;
  const { namespace = '', name = '' } = pod.pod.metadata;
  const refused = decision.kind === 'refuse';
  const preemption = refused && decision.preemption.kind === 'possible' ? decision.preemption : undefined;
  const victims = (preemption?.victims ?? []).map(({ pod: { metadata } }) => ({
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
  }));
  const { nodeCount = 0, feasible = [], refusals = [], scores = [] } = considered ?? {};
  return {
    decision: {
      at,
      pod: { namespace, name, uid: pod.uid },
      outcome: !refused ? 'assigned' : preemption === undefined ? 'refused' : 'nominated',
      node: refused ? decision.nominatedTo : decision.nodeName,
      message: refused ? decision.message : '',
      victims,
      nodeCount,
      feasibleCount: feasible.length,
      refusedCount: refusals.length,
    },
    feasible,
    scores,
    refused: refusals
      .slice(0, REFUSED_SHOWN)
      .map(({ node, filter, reasons }) => ({ node: node.name, refusedBy: filter.name, reasons })),
  };
}

function nodesOf({ feasible, scores, refused }: Entry): readonly ShownNode[] {
  const ofAll = scores.map(({ points, ...plugin }) => ({ ...plugin, points: pointsOf(points, feasible.length) }));
  const fitting = feasible.map((node, i): ShownNode => {
    if (scores.length === 0) return { node };
    const own = ofAll.map(({ points, ...plugin }) => ({ ...plugin, points: points[i] ?? 0 }));
    return { node, score: own.reduce((sum, { weight, points }) => sum + weight * points, 0), scores: own };
  });
  const best = fitting.toSorted((one, other) => (other.score ?? 0) - (one.score ?? 0)).slice(0, FEASIBLE_SHOWN);
  return [...best, ...refused];
}
