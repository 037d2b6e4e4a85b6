import type { ScorePlugin } from '../plugin.ts';

/** Prefers nodes with few pods of the same owner, so that losing one node loses few of them. */
export const spreadByOwner: ScorePlugin = {
  name: 'PodTopologySpread',
  weight: 2,
  score: ({ ownerUid }, nodes) => {
    if (ownerUid === '') return nodes.map(() => 100);
    const counts = nodes.map(({ pods }) => {
      let count = 0;
      for (const other of pods.values()) if (other.ownerUid === ownerUid) count += 1;
      return count;
    });
    const most = Math.max(...counts);
    return counts.map((count) => (most === 0 ? 100 : ((most - count) * 100) / most));
  },
};
