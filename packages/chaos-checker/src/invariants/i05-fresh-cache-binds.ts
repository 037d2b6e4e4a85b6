import type { ApiObject } from '../history/api-objects.ts';
import type { Source } from '../read-artifacts.ts';
import type { Invariant } from './invariant.ts';
import { bindingOf, tolerates } from './placement.ts';

const SCHEDULER = '/gantry/elections/kube-scheduler';

/**
 * I5 (Sieve: time travel). No leader binds with a cache from before its election. No artefact has the cache's revision, so what such a
 * cache would lead to is checked: a binding to a node that did not exist, or had been cordoned or tainted against the pod, in every
 * revision since the election. From etcd's history.
 */
export const freshCacheBinds: Invariant = {
  id: 'I5',
  title: 'No binding contradicts every state since the election of its leader',
  unit: 'bindings',
  needs: ['etcd'],
  observe(world, findings) {
    /** Per node: since which revision it has been as it is, and the versions since the present election. */
    const versions = new Map<string, { node: ApiObject | undefined; since: number; source: Source | undefined }[]>();
    const epochOf = () => world.terms.get(SCHEDULER)?.epoch ?? 0;
    return {
      change(change) {
        const { resource, name, before, after, revision, atMs, source, key } = change;
        if (resource === 'nodes') {
          const known = versions.get(name) ?? [{ node: before?.object, since: 0, source: before?.source }];
          known.push({ node: after?.object, since: revision, source });
          const epoch = epochOf();
          // The version that held at the election is the oldest one that matters.
          while ((known[1]?.since ?? Number.POSITIVE_INFINITY) <= epoch) known.shift();
          versions.set(name, known);
          return;
        }
        const pod = bindingOf(change);
        if (pod === undefined || change.fence?.electionKey !== SCHEDULER) return;
        findings.checked();
        const target = pod.spec?.nodeName ?? '';
        const epoch = change.fence.epoch;
        const all = versions.get(target) ?? [
          { node: world.get('nodes', '', target)?.object, since: 0, source: undefined },
        ];
        const seen = all.filter((_, index) => (all[index + 1]?.since ?? Number.POSITIVE_INFINITY) > epoch);
        if (seen.some(({ node }) => node !== undefined && tolerates(pod, node))) return;
        const what = `${key} was bound to ${target}, which since the election at ${epoch} has never allowed it`;
        findings.violation(atMs, what, seen.at(-1)?.source, after?.source);
      },
    };
  },
};
