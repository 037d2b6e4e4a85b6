import type { Node, Pod } from '@gantry/objects';
import { expect } from 'vitest';
import { createPodInfo } from '../framework/pod-info.ts';
import { planAssignments } from '../plan.ts';
import { exampleSnapshot } from './examples.ts';

/** Pods, each with the name of its node. */
export type Placed = readonly (readonly [Pod, string])[];

/** The number of pods that were assigned and refused. */
export interface SeenDecisions {
  assigned: number;
  refused: number;
}

/**
 * Plans the `waiting` pods in a cluster with the `running` ones. Expects each pod on a node that `isAllowed` accepts, or refused when it
 * accepts none. `isAllowed` receives the pods that were assigned before.
 */
export function expectAllowed(
  {
    nodes,
    running,
    waiting,
    seed,
  }: {
    readonly nodes: readonly Node[];
    readonly running: Placed;
    readonly waiting: readonly Pod[];
    readonly seed: number;
  },
  isAllowed: (pod: Pod, node: string, placed: Placed) => boolean,
  seen: SeenDecisions,
): void {
  const placed = [...running];
  const snapshot = exampleSnapshot(
    nodes,
    running.map(([pod]) => pod),
  );
  for (const decision of planAssignments(snapshot, waiting.map(createPodInfo), seed)) {
    const { pod } = decision.pod;
    const allowed = nodes.map(({ metadata }) => metadata.name ?? '').filter((node) => isAllowed(pod, node, placed));
    if (decision.kind === 'assign') {
      expect(allowed).toContain(decision.nodeName);
      placed.push([pod, decision.nodeName]);
      seen.assigned += 1;
    } else {
      expect(allowed).toEqual([]);
      seen.refused += 1;
    }
  }
}
