import type { ApiObject } from '../history/api-objects.ts';
import { controllerOf } from '../history/api-objects.ts';
import { type Change, FREQUENT, type ObjectVersion, type World } from '../history/world.ts';
import { fingerprint, masked } from './fingerprint.ts';
import { boundsOf, type Invariant } from './invariant.ts';

/**
 * I21 (Sieve, Acto, Anvil: eventually stable reconciliation). When no fault has acted for longer than the bound, each object's
 * `observedGeneration` is its generation; no component changes anything but times any more; and the objects are those of the same
 * workload without faults (`undisturbed.jsonl`), names of dependents, addresses, nodes and times aside. What CronJobs create is left out, and
 * the removal of CertificateSigningRequests, which is an hour after their end.
 * From etcd's state at the end.
 */
export const endState: Invariant = {
  id: 'I21',
  title: 'The end state is that of an undisturbed run, and stays',
  unit: 'objects at the end',
  needs: ['etcd'],
  observe(world, findings) {
    const { convergeMs, stillMs } = boundsOf(world);
    const late: Change[] = [];
    return {
      change(change) {
        const { before, after, atMs, resource } = change;
        if (atMs < (world.run.endedAtMs ?? 0) - stillMs || FREQUENT.has(resource) || resource === 'nodes') return;
        if (resource === 'certificates.k8s.io/certificatesigningrequests' && after === undefined) return;
        const bySystem = change.fence !== undefined || after?.writer.startsWith('system:') === true;
        const equal = before !== undefined && after !== undefined && masked(before.object) === masked(after.object);
        if (bySystem && !equal && !isPeriodic(world, after ?? before)) late.push(change);
      },
      finish() {
        if (world.calmMs() < convergeMs + stillMs) {
          findings.undecided(`the end had less than ${convergeMs + stillMs} ms of calm`);
          return;
        }
        for (const version of world.objects.values()) {
          const { metadata, status } = version.object ?? {};
          if (status?.observedGeneration === undefined || metadata?.generation === undefined) continue;
          findings.checked();
          if (status.observedGeneration >= metadata.generation) continue;
          const what = `generation ${metadata.generation} of ${version.key} was not observed, only ${status.observedGeneration}`;
          findings.violation(world.nowMs, what, version.source);
        }
        for (const { key, atMs, source, before } of late) {
          findings.violation(atMs, `${key} changed ${world.nowMs - atMs} ms before the end`, before?.source, source);
        }
        if (world.undisturbed === undefined) findings.undecided('the run has no undisturbed.jsonl to compare with');
        else if (world.run.quietFromMs === undefined) findings.undecided('the run was ended before its workloads');
        else compare(world, world.undisturbed);
      },
    };

    function compare(actual: World, expected: World): void {
      const left = fingerprints(expected);
      for (const [print, versions] of fingerprints(actual)) {
        findings.checked(versions.length);
        const surplus = versions.slice(left.get(print)?.length ?? 0);
        for (const version of surplus)
          findings.violation(actual.nowMs, `an undisturbed run has no ${print}`, version.source);
      }
      const present = fingerprints(actual);
      for (const [print, versions] of left) {
        const missing = versions.length - (present.get(print)?.length ?? 0);
        if (missing > 0)
          findings.violation(actual.nowMs, `an undisturbed run has ${missing} more: ${print}`, versions[0]?.source);
      }
    }
  },
};

function fingerprints(world: World): Map<string, ObjectVersion[]> {
  const prints = new Map<string, ObjectVersion[]>();
  for (const version of world.objects.values()) {
    const print = isPeriodic(world, version) ? undefined : fingerprint(version, world);
    if (print === undefined) continue;
    const same = prints.get(print) ?? [];
    same.push(version);
    prints.set(print, same);
  }
  return prints;
}

/** Whether a CronJob, or what it owns: it changes for ever. */
function isPeriodic(world: World, version: ObjectVersion | undefined): boolean {
  let object: ApiObject | undefined = version?.object;
  if (version?.resource === 'batch/cronjobs') return true;
  for (let depth = 0; depth < 4 && object !== undefined; depth++) {
    const owner = controllerOf(object);
    if (owner?.kind === 'CronJob') return true;
    object = world.byUid.get(owner?.uid ?? '')?.object;
  }
  return false;
}
