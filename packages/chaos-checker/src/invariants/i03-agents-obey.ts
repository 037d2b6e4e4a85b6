import { type ApiObject, isTerminal } from '../history/api-objects.ts';
import type { ObjectVersion } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import { boundsOf, type Invariant } from './invariant.ts';
import { podOf } from './pod-containers.ts';

/** The users of agents begin with it. */
const AGENTS = 'system:node:';

/**
 * I3 (kubelet's sources of pods). Agents take no commands of leaders: they read pods, whose bindings are fenced (I2). So what an agent
 * executes is checked: it creates and starts containers only for a pod that a committed write bound to its node, none of a pod whose end it
 * has reported, and none later than the bound for convergence after the pod's removal, or after anybody else has written its end.
 * Containers of static pods are left out. From the engine's events and etcd.
 */
export const agentsObey: Invariant = {
  id: 'I3',
  title: 'An agent starts only containers of pods that are bound to its node',
  unit: 'starts of containers',
  needs: ['etcd', 'engine'],
  observe(world, findings) {
    const { convergeMs, staleMs } = boundsOf(world);
    /** When pods, by uid, succeeded or failed. An agent knows what it has reported; of what others write, it has to hear. */
    const ended = new Map<string, { atMs: number; source: Source; by: 'agent' | 'another' }>();
    const nodes = new Map<string, string>();
    const removed = new Map<string, number>();
    const statics = new Set<string>();
    const learn = (pod: ApiObject | undefined) => {
      const { uid = '', annotations } = pod?.metadata ?? {};
      const hash = annotations?.['kubernetes.io/config.hash'];
      if (hash !== undefined) statics.add(hash);
      if (pod?.spec?.nodeName !== undefined) nodes.set(uid, pod.spec.nodeName);
    };
    const pending: { what: string; uid: string; node: string; atMs: number; source: Source }[] = [];
    /** A member's watch may deliver the binding after the engine reports the start. */
    const judge = () => {
      for (const { what, uid, node, atMs, source } of pending) {
        const bound = nodes.get(uid);
        if (statics.has(uid) || bound === node) continue;
        findings.violation(atMs, `${what}, which is bound to ${bound ?? 'no node'}`, source);
      }
    };
    return {
      begin() {
        for (const { object } of world.list('pods')) learn(object);
      },
      change({ resource, before, after, atMs, source }) {
        if (resource !== 'pods') return;
        learn(after?.object ?? before?.object);
        if (after !== undefined && isTerminal(after.object) && !isTerminal(before?.object)) {
          const by = isOfAgent(after) ? 'agent' : 'another';
          ended.set(after.object?.metadata?.uid ?? '', { atMs, source, by });
        }
        if (after === undefined) removed.set(before?.object?.metadata?.uid ?? '', atMs);
      },
      container({ before, after, atMs, source, action }) {
        const pod = podOf(world, after);
        if (after?.running !== true || before?.running === true || pod === undefined || action === 'snapshot') return;
        if (statics.has(pod.uid)) return;
        findings.checked();
        const node = nodes.get(pod.uid);
        const since = removed.get(pod.uid);
        const what = `${pod.node} starts ${after.name} of ${pod.namespace}/${pod.name}`;
        const hasConverged = (sinceMs: number) => atMs - sinceMs > convergeMs && world.calmMs() > convergeMs;
        const end = ended.get(pod.uid);
        if (end?.by === 'agent' && atMs - end.atMs > staleMs) {
          findings.violation(atMs, `${what}, whose end it reported ${atMs - end.atMs} ms before`, end.source, source);
        } else if (end?.by === 'another' && hasConverged(end.atMs)) {
          findings.violation(atMs, `${what}, which was ended ${atMs - end.atMs} ms before`, end.source, source);
        }
        if (node === undefined) pending.push({ what, uid: pod.uid, node: pod.node, atMs, source });
        else if (node !== pod.node) findings.violation(atMs, `${what}, which is bound to ${node}`, source);
        else if (since !== undefined && hasConverged(since)) {
          findings.violation(atMs, `${what}, which was removed ${atMs - since} ms before`, source);
        }
      },
      cut: judge,
      finish: judge,
    };
  },
};

/**
 * Whether the agent of the pod's node has written this version. That of a node that is not heard may not know what the host's custodian has
 * written. The storage of Kubernetes has no writers; there, a kubelet owns the phase that it has written.
 */
function isOfAgent({ writer, object }: ObjectVersion): boolean {
  if (writer !== '') return writer === AGENTS + object?.spec?.nodeName;
  return (
    object?.metadata?.managedFields?.some(
      ({ manager, fieldsV1 }) => manager === 'kubelet' && fieldsV1?.['f:status']?.['f:phase'] !== undefined,
    ) === true
  );
}
