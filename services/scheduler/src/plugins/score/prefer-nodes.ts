import { nodePreference } from '@gantry/objects';
import type { ScorePlugin } from '../../framework/plugin.ts';

/** Prefers the nodes that match the pod's preferred node affinity: the score is the share of the largest sum of weights. */
export const preferNodes: ScorePlugin = {
  name: 'NodeAffinity',
  weight: 2,
  score: ({ pod: { spec } }, nodes) => {
    if (spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution === undefined) return 0;
    const sums = nodes.map(({ node }) => nodePreference(spec, node));
    const most = Math.max(...sums);
    return sums.map((sum) => (most === 0 ? 0 : Math.floor((100 * sum) / most)));
  },
};
