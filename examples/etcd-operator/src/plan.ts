import type { Pod } from '@gantry/operator';
import { CHANGED_FROM, CONTAINER, type EtcdCluster, memberName } from './etcd-cluster.ts';

/** A member as etcd's list has it. */
export interface Member {
  readonly id: string;
  /** From the URL that it was added with, so it has one before it has started. */
  readonly name: string;
  readonly isLearner: boolean;
}

/** What a majority of the members agrees on. */
export interface Membership {
  readonly clusterId: string;
  readonly members: readonly Member[];
  /** The id of the leader. */
  readonly leader: string;
}

export interface Observed {
  readonly cluster: EtcdCluster;
  /** The pods that the cluster controls. */
  readonly pods: readonly Pod[];
  /** Undefined: no majority answers. */
  readonly membership: Membership | undefined;
  readonly now: number;
}

export type Action =
  /** Begins the cluster. */
  | { readonly kind: 'createFirst'; readonly name: string }
  /** Adds a member that does not vote yet, and creates its pod. */
  | { readonly kind: 'add'; readonly name: string }
  /** Lets a member vote, if it has caught up. */
  | { readonly kind: 'promote'; readonly member: Member }
  /** `isGone`: only if its pod does not exist. */
  | { readonly kind: 'remove'; readonly member: Member; readonly isGone: boolean }
  | { readonly kind: 'deletePod'; readonly pod: Pod }
  | { readonly kind: 'moveLeader'; readonly to: Member }
  | { readonly kind: 'changeImage'; readonly pod: Pod; readonly patch: object }
  | { readonly kind: 'wait' };

/** What to do next, and what people read about it. */
export interface Plan {
  readonly action: Action;
  /** The condition `Progressing`; its status is `False` for the reason `AsDesired`. */
  readonly reason: Reason;
  readonly message: string;
}

type Reason =
  | 'Creating'
  | 'Waiting'
  | 'AddingMember'
  | 'RemovingMember'
  | 'ReplacingMember'
  | 'Upgrading'
  | 'AsDesired';

/** One step at a time: each next one is planned when all members vote and are ready, so each step keeps a majority. */
export function planCluster(observed: Observed): Plan {
  const { cluster, membership } = observed;
  if (cluster.status?.clusterId === undefined) return planFirst(observed);
  if (membership === undefined) {
    return waiting('Waiting', 'Waits for a majority of the members: without it, members are neither added nor removed');
  }
  return planRepair(observed, membership) ?? planChange(observed, membership);
}

const waiting = (reason: Reason, message: string): Plan => ({ action: { kind: 'wait' }, reason, message });

function planFirst({ cluster, pods, membership }: Observed): Plan {
  const name = memberName(cluster, 0);
  const from = cluster.spec.restore === undefined ? '' : ` with the content of ${cluster.spec.restore.file}`;
  const message = `Begins the cluster with member ${name}${from}`;
  const pod = podOf(pods, name);
  if (pod === undefined) return { action: { kind: 'createFirst', name }, reason: 'Creating', message };
  if (membership === undefined && isDead(pod) && pod.metadata.deletionTimestamp === undefined) {
    return { action: { kind: 'deletePod', pod }, reason: 'Creating', message };
  }
  return waiting('Creating', message);
}

/** Makes members and pods agree. Undefined if all members vote and are ready. */
function planRepair({ cluster, pods, now }: Observed, { members }: Membership): Plan | undefined {
  // One that is ending may do so for long, when its node is lost. It keeps its name from being given again.
  const stray = pods.find(
    ({ metadata }) => metadata.deletionTimestamp === undefined && !members.some(({ name }) => name === metadata.name),
  );
  if (stray !== undefined) {
    const message = `Deletes pod ${stray.metadata.name}, which is no member`;
    return { action: { kind: 'deletePod', pod: stray }, reason: 'RemovingMember', message };
  }
  const dead = members.find(({ name }) => isDead(podOf(pods, name)));
  if (dead !== undefined) {
    const isGone = podOf(pods, dead.name) === undefined;
    const message = `Replaces member ${dead.name}, whose pod ${isGone ? 'is gone' : 'has ended'}`;
    return { action: { kind: 'remove', member: dead, isGone }, reason: 'ReplacingMember', message };
  }
  const unready = members.filter(({ name, isLearner }) => !isLearner && !isSettled(podOf(pods, name)));
  const [one] = unready;
  const pod = one === undefined ? undefined : podOf(pods, one.name);
  if (one !== undefined && pod !== undefined) {
    const unreadyAt = unreadySince(pod) + cluster.spec.replaceAfter * 1000;
    if (unready.length === 1 && members.length > 1 && now >= unreadyAt) {
      const message = `Replaces member ${one.name}, which was not ready for ${cluster.spec.replaceAfter} s`;
      return { action: { kind: 'remove', member: one, isGone: false }, reason: 'ReplacingMember', message };
    }
    return waiting('Waiting', `Waits until ${unready.map(({ name }) => name).join(', ')} is ready`);
  }
  const learner = members.find(({ isLearner }) => isLearner);
  if (learner === undefined) return undefined;
  const message = `Member ${learner.name} catches up`;
  return { action: { kind: 'promote', member: learner }, reason: 'AddingMember', message };
}

/** The next step to what is wanted, from members that all vote and are ready. */
function planChange({ cluster, pods }: Observed, { members, leader }: Membership): Plan {
  const { size, image } = cluster.spec;
  const inOrder = members.toSorted((a, b) => indexOf(a) - indexOf(b));
  if (members.length < size) {
    const name = freeName(cluster, members, pods);
    const message = `Adds member ${name}: ${members.length} of ${size}`;
    return { action: { kind: 'add', name }, reason: 'AddingMember', message };
  }
  if (members.length > size) {
    const last = inOrder.at(-1);
    if (last !== undefined) {
      const message = `Removes member ${last.name}: ${members.length} of ${size}`;
      return {
        ...withoutLeader(last, inOrder, leader, { kind: 'remove', member: last, isGone: false }),
        reason: 'RemovingMember',
        message,
      };
    }
  }
  // Its container for the restore would fail if the pod's sandbox began anew, because the data are there.
  const restored = inOrder.find(({ name }) => (podOf(pods, name)?.spec?.initContainers?.length ?? 0) > 0);
  if (restored !== undefined && members.length > 1) {
    const message = `Replaces member ${restored.name}, which began with the backup`;
    return {
      ...withoutLeader(restored, inOrder, leader, { kind: 'remove', member: restored, isGone: false }),
      reason: 'ReplacingMember',
      message,
    };
  }
  const old = inOrder.filter(({ name }) => imageOf(podOf(pods, name)) !== image);
  // The leader comes last: it moves once.
  const next = old.find(({ id }) => id !== leader) ?? old[0];
  const pod = next === undefined ? undefined : podOf(pods, next.name);
  if (next !== undefined && pod !== undefined) {
    const message = `Changes the image of ${next.name} to ${image}: ${members.length - old.length} of ${size} have it`;
    const change = { kind: 'changeImage', pod, patch: imagePatch(pod, image) } as const;
    return { ...withoutLeader(next, inOrder, leader, change), reason: 'Upgrading', message };
  }
  return waiting('AsDesired', `${size} ${size === 1 ? 'member' : 'members'} of ${image}`);
}

/** The action on a member, or before that another leader than this member. */
function withoutLeader(
  member: Member,
  members: readonly Member[],
  leader: string,
  action: Action,
): { readonly action: Action } {
  const to = members.find(({ id }) => id !== member.id);
  return { action: member.id === leader && to !== undefined ? { kind: 'moveLeader', to } : action };
}

function imagePatch(pod: Pod, image: string): object {
  const { uid, resourceVersion } = pod.metadata;
  const annotations = { [CHANGED_FROM]: containerOf(pod)?.containerID ?? '' };
  return { metadata: { uid, resourceVersion, annotations }, spec: { containers: [{ name: CONTAINER, image }] } };
}

function freeName(cluster: EtcdCluster, members: readonly Member[], pods: readonly Pod[]): string {
  const taken = new Set([...members.map(({ name }) => name), ...pods.map(({ metadata }) => metadata.name)]);
  let index = 0;
  while (taken.has(memberName(cluster, index))) index += 1;
  return memberName(cluster, index);
}

function podOf(pods: readonly Pod[], name: string): Pod | undefined {
  return pods.find(({ metadata }) => metadata.name === name);
}

/** Its data are lost, or will be. */
function isDead(pod: Pod | undefined): boolean {
  const phase = pod?.status?.phase;
  return (
    pod === undefined || pod.metadata.deletionTimestamp !== undefined || phase === 'Failed' || phase === 'Succeeded'
  );
}

/** It is ready, and its container is not one from before a change of the image. */
export function isSettled(pod: Pod | undefined): boolean {
  const isReady = pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
  return isReady && containerOf(pod)?.containerID !== pod?.metadata.annotations?.[CHANGED_FROM];
}

/** Milliseconds since 1970. */
function unreadySince({ metadata, status }: Pod): number {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  const isUnready = ready !== undefined && ready.status !== 'True';
  const since = (isUnready ? ready.lastTransitionTime : undefined) ?? metadata.creationTimestamp;
  return ready?.status === 'True' ? Number.POSITIVE_INFINITY : Date.parse(since ?? '');
}

function containerOf(pod: Pod | undefined) {
  return pod?.status?.containerStatuses?.find(({ name }) => name === CONTAINER);
}

function imageOf(pod: Pod | undefined): string | undefined {
  return pod?.spec?.containers.find(({ name }) => name === CONTAINER)?.image;
}

function indexOf({ name }: Member): number {
  return Number(name.slice(name.lastIndexOf('-') + 1));
}
