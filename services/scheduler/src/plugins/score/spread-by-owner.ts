import type { ScorePlugin } from '../../framework/plugin.ts';

/**
 * Prefers nodes with few pods of the same owner, so that the loss of a node affects few of them. Terminating pods do not count: otherwise
 * their replacements would avoid that node and gather on another. A pod with spread constraints of its own is not ranked here.
 */
export const spreadByOwner: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  score: ({ ownerUid, spread }, nodes) => {
    if (ownerUid === '' || spread !== undefined) return nodes.map(() => 100);
    const counts = nodes.map(({ pods }) => {
      let count = 0;
      for (const { ownerUid: other, pod } of pods.values()) {
        if (other === ownerUid && pod.metadata.deletionTimestamp === undefined) count += 1;
      }
      return count;
    });
    const most = Math.max(...counts);
    return counts.map((count) => (most === 0 ? 100 : ((most - count) * 100) / most));
  },
};
