import { isTolerated } from '@gantry/objects';
import type { ScorePlugin } from '../../framework/plugin.ts';

/** Prefers nodes with few PreferNoSchedule taints that the pod does not tolerate. */
export const preferUntainted: ScorePlugin = {
  name: 'TaintToleration',
  weight: 3,
  score: ({ pod }, nodes) => {
    const counts = nodes.map(({ node: { spec } }) => {
      let count = 0;
      for (const taint of spec?.taints ?? [])
        if (taint.effect === 'PreferNoSchedule' && !isTolerated(taint, pod.spec?.tolerations)) count += 1;
      return count;
    });
    const most = Math.max(...counts);
    return most === 0 ? 100 : counts.map((count) => 100 - Math.floor((100 * count) / most));
  },
};
