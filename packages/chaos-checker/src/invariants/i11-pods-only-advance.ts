import type { ApiObject } from '../history/api-objects.ts';
import type { Invariant } from './invariant.ts';

const RANK: Readonly<Record<string, number>> = { Pending: 0, Running: 1, Succeeded: 2, Failed: 2 };

/**
 * I11 (Kubernetes: pod lifecycle). A pod's phase moves from Pending over Running to Succeeded or Failed, and stays there; its
 * deletionTimestamp is never cleared, and its grace period never becomes longer. From etcd's history.
 */
export const podsOnlyAdvance: Invariant = {
  id: 'I11',
  title: "A pod's life only advances",
  unit: 'changes of pods',
  needs: ['etcd'],
  observe(_, findings) {
    return {
      change({ resource, key, before, after, atMs, source }) {
        if (resource !== 'pods' || before === undefined || after === undefined) return;
        findings.checked();
        const what = wentBack(before.object, after.object);
        if (what !== undefined) findings.violation(atMs, `${key}: ${what}`, before.source, source);
      },
    };
  },
};

function wentBack(before: ApiObject | undefined, after: ApiObject | undefined): string | undefined {
  const [from = 'Pending', to = 'Pending'] = [before?.status?.phase, after?.status?.phase];
  const [was = 0, is = 0] = [RANK[from], RANK[to]];
  if (was > is || (was === 2 && from !== to)) return `the phase went from ${from} to ${to}`;
  const [old, now] = [before?.metadata, after?.metadata];
  if (old?.deletionTimestamp === undefined) return undefined;
  if (now?.deletionTimestamp === undefined) return 'the deletionTimestamp was cleared';
  const [long = 0, short = 0] = [old.deletionGracePeriodSeconds, now.deletionGracePeriodSeconds];
  return short > long ? `the grace period grew from ${long} to ${short} s` : undefined;
}
