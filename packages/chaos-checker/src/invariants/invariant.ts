import type { ClientLine, FaultLine, MetricLine } from '../artifacts.ts';
import type { Revision } from '../history/etcd-history.ts';
import type { Change, ContainerChange, KeyChange, World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Findings } from '../verdict.ts';

/** Parts of a run's folder. */
export type Part = 'etcd' | 'engine' | 'clients' | 'metrics' | 'faults';

/** Receives the lines of a run in the order of their time. The world is already at the line. */
export interface Observer {
  /** The world is at the state before the first revision. */
  begin?(): void;
  /** A revision of etcd, after `change` and `key` of what is in it. */
  revision?(revision: Revision): void;
  /** A change of an object. */
  change?(change: Change): void;
  /** A change of a key that is no object. */
  key?(change: KeyChange): void;
  container?(change: ContainerChange): void;
  /** `file` tells clients apart. */
  client?(line: ClientLine, source: Source): void;
  fault?(line: FaultLine, source: Source): void;
  metric?(line: MetricLine, source: Source): void;
  /**
   * A snapshot is restored: the history before it is complete, and is continued by another one, which new observers are shown. Who decides by what
   * was written, and not by what comes of it, does so here. `differences` are those between the restored state and the history at the
   * snapshot.
   */
  cut?(differences: readonly string[], atMs: number, source: Source): void;
  /**
   * The run has ended. Only here an observer may decide by what does not come any more: all else it decides as lines come, also while the run
   * is still recorded.
   */
  finish?(): void;
}

/** One of I1 to I35. */
export interface Invariant {
  readonly id: string;
  readonly title: string;
  /** What is counted as checked, in the plural. */
  readonly unit: string;
  /** Without these parts nothing can be decided. */
  readonly needs: readonly Part[];
  observe(world: World, findings: Findings): Observer;
}

/** How long a cluster may take, in milliseconds. A run may set others in `options.bounds`. */
export interface Bounds {
  /** From the end of a term, or a fault on its leader, to the next one: a lease of 8 s on a slow machine, and the election. */
  readonly takeoverMs: number;
  /** How much longer a leader leads that reaches etcd, and no API server. */
  readonly resignMs: number;
  /** Until a container without a pod is removed, a pod's lost container is reported, a pod is bound, an orphan is collected, in calm. */
  readonly convergeMs: number;
  /** How old a view may be on which a controller acts. */
  readonly staleMs: number;
  /** Until a pod that is not ready gets no requests, in calm. */
  readonly endpointMs: number;
  /** Until a quota that counts too much is counted again: admission counts before it writes, and the write may fail. */
  readonly recountMs: number;
  /** How long the end state must stay the same. */
  readonly stillMs: number;
}

const DEFAULTS: Bounds = {
  takeoverMs: 15_000,
  resignMs: 10_000,
  convergeMs: 60_000,
  staleMs: 10_000,
  endpointMs: 15_000,
  recountMs: 320_000,
  stillMs: 10_000,
};

/** The run's bounds. */
export function boundsOf({ run }: World): Bounds {
  const own = run.options['bounds'];
  return typeof own === 'object' && own !== null ? { ...DEFAULTS, ...own } : DEFAULTS;
}
