import type { ScorePlugin } from '../../framework/plugin.ts';

/** Prefers the nodes with the most free cpu and memory. */
export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score: ({ ranked: { cpu, memory } }, nodes) =>
    nodes.map(
      ({ allocatable, ranked }) =>
        (freeShare(allocatable['cpu'], ranked.cpu + cpu) + freeShare(allocatable['memory'], ranked.memory + memory)) /
        2,
    ),
};

function freeShare(capacity = 0, used: number): number {
  return capacity <= 0 || used > capacity ? 0 : ((capacity - used) * 100) / capacity;
}
