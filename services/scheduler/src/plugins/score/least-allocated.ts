import type { ScorePlugin } from '../../framework/plugin.ts';

/**
 * Prefers the nodes with the most free cpu and memory. Scores are rounded down as Kubernetes' are
 * (pkg/scheduler/framework/plugins/noderesources/least_allocated.go). A resource that a node does not have is left out.
 */
export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score: ({ ranked: { cpu, memory } }, nodes) =>
    nodes.map(({ allocatable: { cpu: ofCpu = 0, memory: ofMemory = 0 }, ranked }) => {
      const resources = (ofCpu === 0 ? 0 : 1) + (ofMemory === 0 ? 0 : 1);
      const sum = freeShare(ofCpu, ranked.cpu + cpu) + freeShare(ofMemory, ranked.memory + memory);
      return resources === 0 ? 0 : Math.floor(sum / resources);
    }),
};

function freeShare(capacity: number, used: number): number {
  return capacity === 0 || used > capacity ? 0 : Math.floor(((capacity - used) * 100) / capacity);
}
