import type { Container, ContainerStatus, Pod, PodSpec, ResourceRequirements } from './generated/types.ts';
import { compareQuantity, parseQuantity, QuantityError } from './quantity.ts';

type Amounts = Readonly<Record<string, string>>;

/**
 * The pod with the resources that it and its containers hold during a resize, as Kubernetes counts them for quotas and nodes: the maximum
 * of the spec, the resources that the node has allocated, and the actual resources. Requests that the node can never grant are ignored.
 */
export function withHeldResources(pod: Pod): Pod {
  const { spec, status } = pod;
  const reported = new Map<string, ContainerStatus>();
  for (const one of [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])])
    if (one.resources !== undefined) reported.set(one.name, one);
  const pending = status?.conditions?.find(({ type }) => type === 'PodResizePending');
  const asked = pending?.reason === 'Infeasible' ? 'never' : 'counts';
  if (spec === undefined) return pod;
  const isGranted = spec.resources !== undefined && status?.resources !== undefined;
  if (reported.size === 0 && !isGranted && asked === 'counts') return pod;
  const { resources: _, ...rest } = spec;
  const held = (container: Container) => heldBy(container, reported.get(container.name), asked);
  const containers = spec.containers.map(held);
  const initContainers = spec.initContainers?.map((one) => (one.restartPolicy === 'Always' ? held(one) : one));
  return {
    ...pod,
    spec: {
      ...rest,
      ...heldByPod(spec, status?.resources, asked),
      containers,
      ...(initContainers === undefined ? {} : { initContainers }),
    },
  };
}

/**
 * The pod-level resources that the pod holds. The status also lists the sum of its containers' resources; without pod-level resources in
 * the spec, the status contains only that.
 */
function heldByPod(
  { resources: own }: PodSpec,
  actual: ResourceRequirements | undefined,
  asked: 'counts' | 'never',
): Pick<PodSpec, 'resources'> {
  if (own === undefined) return {};
  // A pod that got pod-level resources only by this resize has none of them yet.
  if (actual === undefined) return asked === 'never' ? {} : { resources: own };
  const held = { ...own };
  for (const list of ['requests', 'limits'] as const) {
    const wanted = own[list];
    if (wanted === undefined) continue;
    const said = Object.entries(actual[list] ?? {}).filter(([name]) => wanted[name] !== undefined);
    const known = Object.fromEntries(said);
    held[list] = asked === 'counts' ? most(wanted, known) : known;
  }
  return { resources: held };
}

function heldBy(container: Container, status: ContainerStatus | undefined, asked: 'counts' | 'never'): Container {
  if (status?.resources === undefined) return container;
  const { requests = {}, limits = {} } = asked === 'counts' ? (container.resources ?? {}) : {};
  const { resources, allocatedResources = {} } = status;
  return {
    ...container,
    resources: {
      ...container.resources,
      requests: most(most(requests, resources.requests ?? {}), allocatedResources),
      limits: most(limits, resources.limits ?? {}),
    },
  };
}

function most(left: Amounts, right: Amounts): Record<string, string> {
  const out: Record<string, string> = { ...left };
  for (const [name, amount] of Object.entries(right)) {
    const present = out[name];
    if (present === amount) continue;
    if (present === undefined || isLess(present, amount)) out[name] = amount;
  }
  return out;
}

/** False also if a quantity is invalid, which may have been stored before validation: the present amount is then kept. */
function isLess(present: string, amount: string): boolean {
  try {
    return compareQuantity(parseQuantity(present), parseQuantity(amount)) < 0;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return false;
  }
}
