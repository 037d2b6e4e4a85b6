import {
  type Container,
  equalJson,
  hasEnded,
  type Pod,
  podRequests,
  type ResourceRequirements,
  resourcesOfPod,
} from '@gantry/objects';
import type { PodState } from '../runtime/observer.ts';
import { ownContainersOf } from './pod-containers.ts';
import type { NodeFacts } from './field-values.ts';
import type { PodRejection } from './pod-rejection.ts';
import { shortageRejection } from './shortage.ts';
import { reportedStatus } from './reported-status.ts';

/**
 * Whether new resources of a pod take effect: one that the node has no room for yet is deferred, one that it cannot carry out is
 * infeasible. The API refuses one for which the node never has room.
 */
export type ResizeVerdict = { readonly kind: 'fits' } | ({ readonly kind: 'deferred' | 'infeasible' } & PodRejection);

const NO_GROUP: ResizeVerdict = {
  kind: 'infeasible',
  reason: 'Infeasible',
  message: 'the containers of the pod were started without pod-level limits, and stay without them',
};

/** What a pod requests, its overhead included, in thousandths of a CPU and bytes. */
function requestsOf(pod: Pod): { readonly cpu: number; readonly memory: number } {
  const { cpu = 0, memory = 0 } = podRequests(pod);
  return { cpu, memory };
}

/** Whether the resources of a pod or its containers differ from those that the node has granted. */
export function asksForResize(pod: Pod): boolean {
  if (asksForPodLevel(pod)) return true;
  return ownContainersOf(pod).some(({ container }) => {
    const granted = reportedStatus(pod, container.name)?.allocatedResources;
    return granted !== undefined && !equalJson(granted, container.resources?.requests ?? {});
  });
}

/** Of a pod without pod-level resources, the status has the sums of its containers: these are no resize. */
function asksForPodLevel(pod: Pod): boolean {
  if (resourcesOfPod(pod).size === 0) return false;
  return !equalJson(grantedPodLevel(pod)?.requests ?? {}, pod.spec?.resources?.requests ?? {});
}

/**
 * The pod-level resources that the node has granted a pod. Of one that it has not reported yet, these are what the pod was created with. Of
 * one that got such resources by a resize, they are the sums of its containers until they are granted, which allow the same as none.
 */
function grantedPodLevel(pod: Pod): ResourceRequirements | undefined {
  const { spec, status } = pod;
  if (status?.resources !== undefined) return status.resources;
  const cameLater = status?.containerStatuses !== undefined && resourcesOfPod(pod).size > 0;
  return cameLater ? undefined : spec?.resources;
}

/** Whether its node has said that it can never carry out what the pod asks for. */
function isInfeasible({ status }: Pod): boolean {
  return status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

type Requests = ReturnType<typeof requestsOf>;

/**
 * Judges new resources of a pod by what the node's other pods have been granted, in kubelet's words. Of pods that wait for new
 * resources, those that come before it are judged first, and have what they get.
 */
export function judgeResize(
  pod: Pod,
  others: readonly Pod[],
  allocatable: NodeFacts['allocatable'],
  state?: Pick<PodState, 'sandboxes' | 'group'>,
): ResizeVerdict {
  if (lacksGroup(pod, state)) return NO_GROUP;
  if (!asksForResize(pod)) return FITS;
  const { cpuMillis, memoryBytes } = allocatable();
  const capacity = { cpu: cpuMillis, memory: memoryBytes };
  const held = others.filter((other) => other.metadata.uid !== pod.metadata.uid && !hasEnded(other));
  const granted = new Map(held.map((other) => [other, requestsOf(grantedPod(other, DEFERRED))] as const));
  const waiting = held
    .filter((other) => asksForResize(other) && !isInfeasible(other) && comesBefore(other, pod))
    .sort(inTurn);
  for (const other of waiting) {
    const rest = [...granted].flatMap(([one, requests]) => (one === other ? [] : [requests]));
    if (verdictOf(other, rest, capacity).kind === 'fits') granted.set(other, requestsOf(other));
  }
  return verdictOf(pod, [...granted.values()], capacity);
}

/** Whether a pod has got pod-level limits that its sandbox has no control group for. */
function lacksGroup({ spec }: Pod, state: Pick<PodState, 'sandboxes' | 'group'> | undefined): boolean {
  if (Object.keys(spec?.resources?.limits ?? {}).length === 0 || state?.group !== undefined) return false;
  return state?.sandboxes.some((sandbox) => sandbox.state === 'running') === true;
}

function verdictOf(pod: Pod, others: readonly Requests[], capacity: Requests): ResizeVerdict {
  const asked = requestsOf(pod);
  const before = requestsOf(grantedPod(pod, DEFERRED));
  for (const name of ['cpu', 'memory'] as const) {
    const used = others.reduce((total, requests) => total + requests[name], 0);
    if (asked[name] <= before[name] || asked[name] + used <= capacity[name]) continue;
    const shortage = { resource: name, requested: asked[name], used, capacity: capacity[name] };
    return { kind: 'deferred', ...shortageRejection(shortage) };
  }
  return FITS;
}

function comesBefore(pod: Pod, other: Pod): boolean {
  return inTurn(pod, other) < 0;
}

/** Kubelet's order (sortPendingResizes): what asks for no more, then by priority, by QoS class, and by how long it waits. */
function inTurn(one: Pod, other: Pod): number {
  return (
    Number(asksForMore(one)) - Number(asksForMore(other)) ||
    (other.spec?.priority ?? 0) - (one.spec?.priority ?? 0) ||
    Number(other.status?.qosClass === 'Guaranteed') - Number(one.status?.qosClass === 'Guaranteed') ||
    waitsSince(one) - waitsSince(other)
  );
}

function asksForMore(pod: Pod): boolean {
  const [asked, before] = [requestsOf(pod), requestsOf(grantedPod(pod, DEFERRED))];
  return asked.cpu > before.cpu || asked.memory > before.memory;
}

function waitsSince({ status }: Pod): number {
  const pending = status?.conditions?.find(({ type }) => type === 'PodResizePending');
  return pending?.lastTransitionTime === undefined ? Number.MAX_SAFE_INTEGER : Date.parse(pending.lastTransitionTime);
}

/** The pod with the resources that the node has granted it. */
export function allocatedPod(pod: Pod): Pod {
  return grantedPod(pod, DEFERRED);
}

const FITS: ResizeVerdict = { kind: 'fits' };
const DEFERRED: ResizeVerdict = { kind: 'deferred', reason: '', message: '' };

/** The pod with the resources that are in force: its own, or while a resize is deferred those that were granted before. */
export function grantedPod(pod: Pod, verdict: ResizeVerdict): Pod {
  if (verdict.kind === 'fits' || pod.spec === undefined) return pod;
  const { containers, initContainers, resources, ...rest } = pod.spec;
  // Without a control group the pod never has the pod-level resources that it asks for.
  const podLevel = verdict.kind === 'infeasible' ? pod.status?.resources : grantedPodLevel(pod);
  const ofPod = resourcesOfPod(pod).size === 0 ? resources : podLevel;
  const granted = (all: readonly Container[]) => all.map((container) => grantedContainer(pod, container));
  return {
    ...pod,
    spec: {
      ...rest,
      ...(ofPod === undefined ? {} : { resources: ofPod }),
      containers: granted(containers),
      ...(initContainers === undefined ? {} : { initContainers: granted(initContainers) }),
    },
  };
}

function grantedContainer(pod: Pod, container: Container): Container {
  const { allocatedResources: requests, resources } = reportedStatus(pod, container.name) ?? {};
  if (requests === undefined) return container;
  return {
    ...container,
    resources: { limits: resources?.limits, requests },
  };
}
