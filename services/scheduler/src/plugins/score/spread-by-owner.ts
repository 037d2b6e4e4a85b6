import type { ScorePlugin } from '../plugin.ts';

/**
 * Prefers nodes with few pods of the same owner, so that losing one node loses few of them. Pods that are ending count no more:
 * their successors would avoid the node for nothing, and meet on another.
 */
export const spreadByOwner: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  score: ({ ownerUid }, nodes) => {
    if (ownerUid === '') return nodes.map(() => 100);
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
