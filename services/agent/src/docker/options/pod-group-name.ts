import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AgentError } from '../../runtime/agent-error.ts';
import type { GroupedPod } from '../../runtime/pod-groups.ts';
import type { Owner } from '../../runtime/labels.ts';

/** Where an engine that uses control groups itself (`cgroupfs`) puts those of its containers. */
export const ENGINE_GROUP = 'docker';

/** The names of all groups of pods, of any cluster and node. */
export const POD_GROUP = /-[0-9a-f]{12}-pod[0-9A-Za-z-]+$/;
const UID = /^[0-9A-Za-z-]+$/;

/**
 * How the names of a node's groups begin. A node is named by a hash: of two names, one could begin with the other. `down` knows this form,
 * too.
 */
export function groupPrefix({ cluster, node }: Owner): string {
  return `${cluster}-${createHash('sha256').update(node).digest('hex').slice(0, 12)}-pod`;
}

/** Whether a pod can have a group: labels of containers that are not ours may say anything. */
export function isGroupUid(uid: string): boolean {
  return UID.test(uid);
}

/**
 * The control group of a pod, below the root of a hierarchy. It stands beside those of containers without one, so that the shares of both
 * are shares of the same.
 */
export function podGroup({ owner, uid }: GroupedPod): string {
  if (!isGroupUid(uid))
    throw new AgentError('Runtime', `${JSON.stringify(uid.slice(0, 64))} cannot name a control group`);
  return join(ENGINE_GROUP, `${groupPrefix(owner)}${uid}`);
}

/** The same as the engine is told it, as the parent of containers. */
export function groupParent(pod: GroupedPod): string {
  return `/${podGroup(pod)}`;
}
