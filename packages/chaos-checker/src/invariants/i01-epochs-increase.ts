import type { World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Invariant } from './invariant.ts';

interface HighestTerm {
  readonly epoch: number;
  readonly holder: string;
  readonly source: Source;
}

/** By election; also those that the restore of a snapshot has lost, which agents and API servers have obeyed. */
const known = new WeakMap<World, Map<string, HighestTerm>>();

/**
 * I1 (Gantry's fences; Kubernetes' leaseTransitions). The epochs of an election, which are create revisions of its key, strictly
 * increase, and within an epoch the holder stays the same. A Lease's holder changes only with a higher `leaseTransitions`, which never
 * falls. From etcd's history.
 */
export const epochsIncrease: Invariant = {
  id: 'I1',
  title: 'Epochs of an election strictly increase',
  unit: 'terms',
  needs: ['etcd'],
  observe(world, findings) {
    const highest = known.get(world) ?? new Map<string, HighestTerm>();
    known.set(world, highest);
    return {
      begin() {
        for (const [key, term] of world.terms) if (term.epoch > (highest.get(key)?.epoch ?? 0)) highest.set(key, term);
      },
      key({ key, value, createRevision: epoch, revision, atMs, source }) {
        if (!key.startsWith('/gantry/elections/') || value === undefined) return;
        const before = highest.get(key);
        const holder = value.toString();
        highest.set(key, { epoch, holder, source });
        if (before?.epoch === epoch) {
          if (before.holder === holder) return;
          findings.violation(
            atMs,
            `${key}: ${holder} took epoch ${epoch} from ${before.holder}`,
            before.source,
            source,
          );
          return;
        }
        findings.checked();
        if (epoch > revision || (before !== undefined && epoch < before.epoch)) {
          findings.violation(atMs, `${key}: epoch ${epoch} follows ${before?.epoch}`, before?.source, source);
        }
      },
      change({ key, before, after, atMs, source, resource }) {
        if (resource !== 'coordination.k8s.io/leases' || before === undefined || after === undefined) return;
        const old = before.object?.spec;
        const spec = after.object?.spec;
        const [from = 0, to = 0] = [old?.leaseTransitions, spec?.leaseTransitions];
        if (to < from)
          findings.violation(atMs, `${key}: leaseTransitions falls from ${from} to ${to}`, before.source, source);
        // Released or taken: only the change between two holders is one of terms.
        if (!old?.holderIdentity || !spec?.holderIdentity || old.holderIdentity === spec.holderIdentity) return;
        findings.checked();
        if (to > from) return;
        const what = `${key}: the holder ${old.holderIdentity} became ${spec.holderIdentity} without a transition`;
        findings.violation(atMs, what, before.source, source);
      },
    };
  },
};
