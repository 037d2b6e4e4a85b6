import type { ObjectVersion, World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { podOf } from './pod-containers.ts';

/** A state that must end within the bound. */
interface Wrong {
  readonly what: string;
  readonly sinceMs: number;
  readonly sources: readonly (Source | undefined)[];
}

/**
 * I10 (kubelet's housekeeping). In calm, within the bound: a running container of ours whose pod is gone from the API is removed (no
 * orphans), and a container that the API reports as running runs (no ghosts). Time while faults act does not count. Nodes whose engine
 * was not recorded are left out. From the engines' events and etcd's history.
 */
export const noOrphansNoGhosts: Invariant = {
  id: 'I10',
  title: 'No container without a pod, no running pod without a container',
  unit: 'containers and reports',
  needs: ['etcd', 'engine'],
  observe(world, findings) {
    const { convergeMs } = boundsOf(world);
    const wrong = new Map<string, Wrong>();
    const statics = new Set<string>();
    /** Nodes whose engine was recorded: it had a container of theirs. */
    const recorded = new Set<string>();
    const judge = (id: string, now: Omit<Wrong, 'sinceMs'> | undefined) => {
      const before = wrong.get(id);
      if (now !== undefined) {
        if (before === undefined) wrong.set(id, { ...now, sinceMs: world.nowMs });
        return;
      }
      wrong.delete(id);
      if (before !== undefined) settle(before);
    };
    const settle = ({ what, sinceMs, sources }: Wrong) => {
      const calmMs = Math.min(world.nowMs - sinceMs, world.calmMs());
      if (calmMs > convergeMs) findings.violation(world.nowMs, `${what} for ${world.nowMs - sinceMs} ms`, ...sources);
    };
    return {
      begin() {
        for (const { object } of world.list('pods')) {
          const hash = object?.metadata?.annotations?.['kubernetes.io/config.hash'];
          if (hash !== undefined) statics.add(hash);
        }
      },
      change({ resource, before, after }) {
        if (resource !== 'pods') return;
        const version = after ?? before;
        const hash = version?.object?.metadata?.annotations?.['kubernetes.io/config.hash'];
        if (hash !== undefined) statics.add(hash);
        if (version === undefined) return;
        const uid = version.object?.metadata?.uid ?? '';
        for (const state of runningOf(world, uid)) {
          const orphan = after === undefined || after.object?.metadata?.uid !== uid;
          judge(
            `container ${state.id}`,
            orphan ? { what: `${state.name} runs without a pod`, sources: [version.source, state.source] } : undefined,
          );
        }
        const reports = reportsOf(after);
        // What is no longer reported is right: another container has taken its place, or the pod is gone.
        for (const { id } of reportsOf(before))
          if (!reports.some((one) => one.id === id)) judge(`report ${id}`, undefined);
        for (const report of reports) judge(`report ${report.id}`, ghost(world, report, version, recorded));
      },
      container({ before, after, source }) {
        const pod = podOf(world, after ?? before);
        if (pod === undefined || statics.has(pod.uid)) return;
        recorded.add(pod.node);
        findings.checked();
        const id = (after ?? before)?.id ?? '';
        const version = world.byUid.get(pod.uid);
        const orphan = after?.running === true && version === undefined;
        judge(`container ${id}`, orphan ? { what: `${after.name} runs without a pod`, sources: [source] } : undefined);
        const report = reportsOf(version).find((one) => one.id === id);
        if (version !== undefined && report !== undefined)
          judge(`report ${id}`, ghost(world, report, version, recorded));
      },
      finish() {
        for (const [id, state] of wrong) if (!isStatic(world, id, statics)) settle(state);
      },
    };
  },
};

function isStatic({ containers }: World, id: string, statics: ReadonlySet<string>): boolean {
  const state = [...containers.values()].find((one) => id === `container ${one.id}`);
  return statics.has(state?.labels['io.kubernetes.pod.uid'] ?? '');
}

function* runningOf(world: World, uid: string) {
  for (const state of world.containersOf(uid)) if (state.running && podOf(world, state) !== undefined) yield state;
}

interface Report {
  readonly id: string;
  readonly name: string;
  readonly running: boolean;
}

/** What a pod's status says of containers. */
function reportsOf(version: ObjectVersion | undefined): readonly Report[] {
  const pod = version?.object;
  return (pod?.status?.containerStatuses ?? []).flatMap(({ containerID, name = '', state }) => {
    const id = containerID?.split('://')[1];
    return id === undefined ? [] : [{ id, name, running: state?.running !== undefined }];
  });
}

function ghost(
  world: World,
  { id, name, running }: Report,
  version: ObjectVersion,
  recorded: ReadonlySet<string>,
): Omit<Wrong, 'sinceMs'> | undefined {
  if (!running) return undefined;
  const node = version.object?.spec?.nodeName;
  for (const state of world.containersOf(version.object?.metadata?.uid ?? '')) {
    if (state.id === id && state.running) return undefined;
  }
  if (node === undefined || !recorded.has(node)) return undefined;
  return {
    what: `${name} of ${version.key} is reported as running, but ${id.slice(0, 12)} does not run`,
    sources: [version.source],
  };
}
