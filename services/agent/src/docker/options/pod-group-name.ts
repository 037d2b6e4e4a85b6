import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { AgentError } from '../../runtime/agent-error.ts';
import type { GroupedPod } from '../../runtime/pod-groups.ts';
import type { Owner } from '../../runtime/labels.ts';

/** The parent group of containers for an engine with the cgroup driver `cgroupfs`. */
export const ENGINE_GROUP = 'docker';

/** Matches the names of all groups of pods, of any cluster and node. */
export const POD_GROUP = /-[0-9a-f]{12}-pod[0-9A-Za-z-]+$/;
const UID = /^[0-9A-Za-z-]+$/;

/**
 * The prefix of the names of a node's groups. It contains a hash of the node's name, because one name could be a prefix of another.
 * `down` depends on this form, too.
 */
export function groupPrefix({ cluster, node }: Owner): string {
  return `${cluster}-${createHash('sha256').update(node).digest('hex').slice(0, 12)}-pod`;
}

/** Whether a pod can have a group. Labels of containers that are not ours may contain anything. */
export function isGroupUid(uid: string): boolean {
  return UID.test(uid);
}

/**
 * The control group of a pod, below the root of a hierarchy. It is a sibling of the groups of containers without a pod group, so that
 * their CPU shares compete at the same level.
 */
export function podGroup({ owner, uid }: GroupedPod): string {
  if (!isGroupUid(uid))
    throw new AgentError('Runtime', `${JSON.stringify(uid.slice(0, 64))} cannot name a control group`);
  return join(ENGINE_GROUP, `${groupPrefix(owner)}${uid}`);
}

/** The group in the form of the engine's option for the parent of a container. */
export function groupParent(pod: GroupedPod): string {
  return `/${podGroup(pod)}`;
}
