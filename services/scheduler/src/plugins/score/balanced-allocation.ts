import type { ScorePlugin } from '../../framework/plugin.ts';
import type { NodeInfo } from '../../framework/node-info.ts';

/**
 * Prefers the nodes whose shares of requested cpu and memory the pod brings closer together. The formula is that of Kubernetes
 * (pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go). A pod without requests is not ranked: it changes no share.
 */
export const balancedAllocation: ScorePlugin = {
  name: 'NodeResourcesBalancedAllocation',
  weight: 1,
  score: ({ requests: { cpu = 0, memory = 0 } }, nodes) => {
    if (cpu === 0 && memory === 0) return 0;
    return nodes.map((node) => {
      const { cpu: cpuBefore = 0, memory: memoryBefore = 0 } = node.requested;
      const improvement =
        balanceOf(node, cpuBefore + cpu, memoryBefore + memory) - balanceOf(node, cpuBefore, memoryBefore);
      // Both terms are from 50 to 100.
      return 50 + Math.trunc((50 + improvement) / 2);
    });
  },
};

/** 100 when the shares are equal, 50 when one is 0 and the other 1. A resource that the node does not have has no share. */
function balanceOf({ allocatable: { cpu = 0, memory = 0 } }: NodeInfo, usedCpu: number, usedMemory: number): number {
  if (cpu === 0 || memory === 0) return 100;
  const difference = Math.min(usedCpu / cpu, 1) - Math.min(usedMemory / memory, 1);
  return Math.trunc((1 - Math.abs(difference / 2)) * 100);
}
