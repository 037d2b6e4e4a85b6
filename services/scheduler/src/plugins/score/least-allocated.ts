import type { Amounts } from '@gantry/objects';
import type { ScorePlugin } from '../../framework/plugin.ts';

/** The requests that are assumed for pods without any (cpu in thousandths, memory in bytes), so that these pods are spread too. */
const DEFAULT_REQUESTS: Readonly<Record<string, number>> = { cpu: 100, memory: 200 * 1024 * 1024 };

/** Prefers the nodes with the most free cpu and memory. */
export const leastAllocated: ScorePlugin = {
  name: 'NodeResourcesFit',
  weight: 1,
  score: (pod, nodes) =>
    nodes.map(({ allocatable, pods }) => {
      let total = 0;
      for (const [name, fallback] of Object.entries(DEFAULT_REQUESTS)) {
        const capacity = allocatable[name] ?? 0;
        let used = amountOf(pod.requests, name, fallback);
        for (const other of pods.values()) used += amountOf(other.requests, name, fallback);
        total += capacity <= 0 || used > capacity ? 0 : ((capacity - used) * 100) / capacity;
      }
      return total / Object.keys(DEFAULT_REQUESTS).length;
    }),
};

function amountOf(requests: Amounts, name: string, fallback: number): number {
  const amount = requests[name] ?? 0;
  return amount === 0 ? fallback : amount;
}
