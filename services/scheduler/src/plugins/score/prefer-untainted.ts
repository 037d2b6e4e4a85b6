import type { ScorePlugin } from '../plugin.ts';
import { tolerates } from '../filter/taint-toleration.ts';

/** Prefers nodes with few PreferNoSchedule taints that the pod does not tolerate. */
export const preferUntainted: ScorePlugin = {
  name: 'TaintToleration',
  weight: 3,
  score: ({ pod }, nodes) => {
    const counts = nodes.map(
      ({ node }) =>
        (node.spec?.taints ?? []).filter(
          (taint) => taint.effect === 'PreferNoSchedule' && !tolerates(pod.spec?.tolerations, taint),
        ).length,
    );
    const most = Math.max(...counts);
    return counts.map((count) => (most === 0 ? 100 : ((most - count) * 100) / most));
  },
};
