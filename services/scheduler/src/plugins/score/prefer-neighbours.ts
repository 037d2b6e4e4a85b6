import { domainOf } from '../../framework/affinity-counts.ts';
import type { ScorePlugin } from '../../framework/plugin.ts';

/**
 * Prefers nodes in the domains of pods that the pod's preferred terms select, and of pods that select it with their preferred terms or
 * required affinity. The score is the sum of the terms' weights. Anti-affinity has negative weights.
 */
export const preferNeighbours: ScorePlugin = {
  name: 'InterPodAffinity',
  weight: 2,
  score: ({ neighbours }, nodes) => {
    if (neighbours === undefined) return 0;
    const weighted = [
      ...neighbours.preferred.flatMap(({ count: { terms, byTerm }, weight }) =>
        terms.map((term, i) => ({ term, byValue: byTerm[i], weight })),
      ),
      ...neighbours.preferredByOthers.map((sum) => ({ ...sum, weight: 1 })),
    ];
    const sums = nodes.map((node) =>
      weighted.reduce((total, { term, byValue, weight }) => {
        const domain = domainOf(term, node);
        return domain === undefined ? total : total + weight * (byValue?.get(domain) ?? 0);
      }, 0),
    );
    const [least, most] = [Math.min(...sums), Math.max(...sums)];
    return sums.map((sum) => (most === least ? 0 : Math.floor(100 * ((sum - least) / (most - least)))));
  },
};
