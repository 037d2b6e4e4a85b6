import type { Source } from '../read-artifacts.ts';
import { ClientOperations, type Completed } from './client-operations.ts';
import { isApplier, type LostField, lostFields } from './field-ownership.ts';
import type { Invariant } from './invariant.ts';
import { WrittenVersions } from './written-versions.ts';

interface Applied {
  readonly lost: readonly LostField[];
  readonly appliers: ReadonlySet<string>;
  readonly source: Source;
}

/**
 * I32 (Kubernetes: optimistic concurrency, server-side apply). An acknowledged write with a resourceVersion replaced exactly that version: no
 * other one lies between. An acknowledged apply gives its manager what it applied, and takes from other appliers only fields that its
 * manager then owns. From the clients' records and etcd's history.
 */
export const noBlindOverwrites: Invariant = {
  id: 'I32',
  title: 'Conflicts are never lost, and applied fields keep their owners',
  unit: 'acknowledged guarded writes and applies',
  needs: ['etcd', 'clients'],
  observe(world, findings) {
    const pairs = new ClientOperations();
    const written = new WrittenVersions(world);
    const acknowledged: Completed[] = [];
    /** Objects that somebody applies. The event of a write may arrive after its response, so all their changes are looked at. */
    const applies = new Set<string>();
    const applied = new Map<string, Applied>();
    const judgeApply = ({ key, invoked, result, sources }: Completed) => {
      const id = `${key}@${result?.resourceVersion}`;
      const change = applied.get(id);
      const manager = invoked.fieldManager;
      if (change === undefined || manager === undefined) return;
      findings.checked();
      const atMs = result?.atMs ?? 0;
      if (!change.appliers.has(manager))
        findings.violation(atMs, `${id}: ${manager} applied it, and owns nothing`, ...sources, change.source);
      for (const { manager: loser, path, owners } of change.lost) {
        if (loser === manager || owners.has(manager)) continue;
        findings.violation(atMs, `${id}: ${loser} lost ${path} by an apply of ${manager}`, ...sources, change.source);
      }
    };
    const judgeGuarded = ({ key, invoked, result, sources }: Completed) => {
      const version = written.find(key, Number(result?.resourceVersion));
      if (version === undefined || version === 'present' || invoked.resourceVersion === undefined) return;
      // What a write without effect returns is the version that it was to replace.
      if (invoked.resourceVersion === result?.resourceVersion) return;
      findings.checked();
      if (version.previousVersion === Number(invoked.resourceVersion)) return;
      const what = `${key}@${result?.resourceVersion} was to replace ${invoked.resourceVersion}, and replaced ${version.previousVersion}`;
      findings.violation(result?.atMs ?? 0, what, ...sources, version.source);
    };
    const judge = () => {
      for (const one of acknowledged) {
        if (one.verb === 'apply') judgeApply(one);
        judgeGuarded(one);
      }
    };
    return {
      client(line, source) {
        const step = pairs.step(line, source);
        if (step === undefined) return;
        if ('begun' in step) {
          if (!('verb' in line) || line.verb === 'get' || line.verb === 'list') return;
          written.track(step.begun);
          if (line.verb === 'apply') applies.add(step.begun);
          return;
        }
        if (step.result?.phase === 'ok' && step.result.resourceVersion !== undefined) acknowledged.push(step);
      },
      change(change) {
        written.add(change);
        const { key, before, after, resourceVersion, source } = change;
        if (after === undefined || !applies.has(key)) return;
        const managers = after.object?.metadata?.managedFields?.map(({ manager = '' }) => manager) ?? [];
        const appliers = new Set(managers.filter((manager) => isApplier(after.object, manager)));
        const lost = lostFields(before?.object, after.object);
        applied.set(`${key}@${resourceVersion}`, { lost, appliers, source });
      },
      cut: judge,
      finish: judge,
    };
  },
};
