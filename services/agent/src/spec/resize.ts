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
 * Whether new resources of a pod take effect. `deferred`: the node has no room yet. `infeasible`: the node cannot apply them. The API
 * server rejects resources that exceed the node.
 */
export type ResizeVerdict = { readonly kind: 'fits' } | ({ readonly kind: 'deferred' | 'infeasible' } & PodRejection);

const NO_GROUP: ResizeVerdict = {
  kind: 'infeasible',
  reason: 'Infeasible',
  message: 'the containers of the pod were started without pod-level limits, and stay without them',
};

/** The requests of a pod, including its overhead: thousandths of a CPU and bytes of memory. */
function requestsOf(pod: Pod): { readonly cpu: number; readonly memory: number } {
  const { cpu = 0, memory = 0 } = podRequests(pod);
  return { cpu, memory };
}

/** Whether the resources of a pod or its containers differ from the granted ones. */
export function asksForResize(pod: Pod): boolean {
  if (asksForPodLevel(pod)) return true;
  return ownContainersOf(pod).some(({ container }) => {
    const granted = reportedStatus(pod, container.name)?.allocatedResources;
    return granted !== undefined && !equalJson(granted, container.resources?.requests ?? {});
  });
}

/** Without pod-level resources, the status contains sums of the containers; a difference from them is not a resize. */
function asksForPodLevel(pod: Pod): boolean {
  if (resourcesOfPod(pod).size === 0) return false;
  return !equalJson(grantedPodLevel(pod)?.requests ?? {}, pod.spec?.resources?.requests ?? {});
}

/**
 * The granted pod-level resources of a pod. For a pod without a reported status, they are the resources that it was created with.
 * Undefined for a pod that got pod-level resources by a resize that was not granted yet; the sums of its containers count until then.
 */
function grantedPodLevel(pod: Pod): ResourceRequirements | undefined {
  const { spec, status } = pod;
  if (status?.resources !== undefined) return status.resources;
  const cameLater = status?.containerStatuses !== undefined && resourcesOfPod(pod).size > 0;
  return cameLater ? undefined : spec?.resources;
}

/** Whether the node has reported that it can never apply the requested resources. */
function isInfeasible({ status }: Pod): boolean {
  return status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

type Requests = ReturnType<typeof requestsOf>;

/**
 * Checks new resources of a pod against the resources granted to the node's other pods; messages are the kubelet's. Other pods with a
 * pending resize that come first are checked first, and keep what they get.
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

/** Whether a pod has pod-level limits but its running sandbox has no control group. */
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

/** The kubelet's order (sortPendingResizes): resizes without increase first, then by priority, by QoS class, and by waiting time. */
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

/** The pod with its granted resources. */
export function allocatedPod(pod: Pod): Pod {
  return grantedPod(pod, DEFERRED);
}

const FITS: ResizeVerdict = { kind: 'fits' };
const DEFERRED: ResizeVerdict = { kind: 'deferred', reason: '', message: '' };

/** The pod with the resources in effect: its own, or the earlier granted ones while a resize is not applied. */
export function grantedPod(pod: Pod, verdict: ResizeVerdict): Pod {
  if (verdict.kind === 'fits' || pod.spec === undefined) return pod;
  const { containers, initContainers, resources, ...rest } = pod.spec;
  // Without a control group, the requested pod-level resources are never applied.
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
