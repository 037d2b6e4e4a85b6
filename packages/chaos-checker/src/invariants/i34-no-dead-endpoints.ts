import { type ApiObject, hasCondition } from '../history/api-objects.ts';
import type { Source } from '../read-artifacts.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { Recent } from './recent.ts';

/**
 * I34 (Kubernetes: EndpointSlices). No request to a Service is answered by a pod that has not been ready, whose node has been lost, or which
 * the Service has not selected, for longer than the bound, and none fails while a pod of the Service has been ready for that long. Time while
 * faults act does not count. At no time, a request is answered by a pod none of whose readiness probes has succeeded, by the pod's own
 * record. Services that publish unready addresses are left out. From the clients' records, by the uid of the pod that answered, and etcd's
 * history.
 */
export const noDeadEndpoints: Invariant = {
  id: 'I34',
  title: 'No request reaches a pod that is long not ready, and none fails in calm',
  unit: 'requests to Services',
  needs: ['etcd', 'clients'],
  observe(world, findings) {
    const { endpointMs } = boundsOf(world);
    /** Since when a pod, by uid, has not been ready, or a node, by name. */
    const unready = new Map<string, { sinceMs: number; source: Source }>();
    const readySince = new Map<string, number>();
    const learn = (id: string, ready: boolean, atMs: number, source: Source) => {
      if (!ready) readySince.delete(id);
      else if (!readySince.has(id)) readySince.set(id, atMs);
      if (ready) unready.delete(id);
      else if (!unready.has(id)) unready.set(id, { sinceMs: atMs, source });
    };
    const homes = new Map<string, string>();
    /** Pods by uid, as they were within the bound; also those that are gone. */
    const shapes = new Map<string, Recent<ApiObject>>();
    const learnPod = (pod: ApiObject | undefined, exists: boolean, atMs: number, source: Source) => {
      const uid = pod?.metadata?.uid ?? '';
      const recent = shapes.get(uid) ?? new Recent<ApiObject>(endpointMs);
      shapes.set(uid, recent);
      if (pod !== undefined) recent.add(atMs, pod);
      learn(uid, exists && hasCondition(pod, 'Ready') && pod?.metadata?.deletionTimestamp === undefined, atMs, source);
      if (pod?.spec?.nodeName !== undefined) homes.set(uid, pod.spec.nodeName);
    };
    return {
      begin() {
        for (const { object, source } of world.list('pods')) learnPod(object, true, 0, source);
        for (const { object, name, source } of world.list('nodes'))
          learn(name, hasCondition(object, 'Ready'), 0, source);
      },
      change({ resource, name, before, after, atMs, source }) {
        if (resource === 'pods') learnPod((after ?? before)?.object, after !== undefined, atMs, source);
        if (resource === 'nodes') learn(name, hasCondition(after?.object, 'Ready'), atMs, source);
      },
      client(line, source) {
        if (!('observe' in line) || (line.observe !== 'served' && line.observe !== 'refused')) return;
        const [namespace = '', name = ''] = line.key.split('/');
        const known = world.get('services', namespace, name);
        const service = known?.object;
        if (service?.spec?.publishNotReadyAddresses === true) return;
        findings.checked();
        if (line.observe === 'refused') {
          if (world.calmMs() <= endpointMs) return;
          const ready = [...world.list('pods')].find(
            ({ object, namespace: of }) =>
              of === namespace &&
              isSelected(service, object) &&
              line.atMs - (readySince.get(object?.metadata?.uid ?? '') ?? Infinity) > endpointMs,
          );
          if (ready === undefined) return;
          const what = `${line.key}: ${line.value} in calm, though ${ready.name} has been ready for longer than ${endpointMs} ms`;
          findings.violation(line.atMs, what, ready.source, source);
          return;
        }
        if (line.readiness === 'never') {
          const what = `${line.key} was answered by ${line.value}, none of whose readiness probes had succeeded`;
          findings.violation(line.atMs, what, source);
        }
        const selectedMs = Math.min(line.atMs - (known?.atMs ?? Infinity), world.calmMs());
        const pods = shapes.get(line.value)?.at(line.atMs) ?? [];
        const isOwn = pods.some((pod) => pod.metadata?.namespace === namespace && isSelected(service, pod));
        if (service?.spec?.selector !== undefined && selectedMs > endpointMs && !isOwn) {
          const whose = pods.at(-1)?.metadata?.name ?? 'which etcd has never had';
          findings.violation(
            line.atMs,
            `${line.key} was answered by ${line.value} (${whose}), which is no pod of it`,
            known?.source,
            source,
          );
        }
        for (const id of [line.value, homes.get(line.value) ?? '']) {
          const since = unready.get(id);
          if (since === undefined || Math.min(line.atMs - since.sinceMs, world.calmMs()) <= endpointMs) continue;
          const what = `${line.key} was answered by ${line.value}, though ${id} has not been ready for ${line.atMs - since.sinceMs} ms`;
          findings.violation(line.atMs, what, since.source, source);
        }
      },
    };
  },
};

/** Whether a Service, whose selector is a map of labels, selects the pod. */
function isSelected(service: ApiObject | undefined, pod: ApiObject | undefined): boolean {
  const labels = Object.entries((service?.spec?.selector ?? {}) as Readonly<Record<string, string>>);
  return labels.length > 0 && labels.every(([name, value]) => pod?.metadata?.labels?.[name] === value);
}
