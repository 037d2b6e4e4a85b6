import { isTolerated } from '@gantry/objects';
import type { ScorePlugin } from '../../framework/plugin.ts';

/** Prefers nodes with few PreferNoSchedule taints that the pod does not tolerate. */
export const preferUntainted: ScorePlugin = {
  name: 'TaintToleration',
  weight: 3,
  score: ({ pod }, nodes) => {
    const counts = nodes.map(
      ({ node }) =>
        (node.spec?.taints ?? []).filter(
          (taint) => taint.effect === 'PreferNoSchedule' && !isTolerated(taint, pod.spec?.tolerations),
        ).length,
    );
    const most = Math.max(...counts);
    return counts.map((count) => (most === 0 ? 100 : 100 - Math.floor((100 * count) / most)));
  },
};
