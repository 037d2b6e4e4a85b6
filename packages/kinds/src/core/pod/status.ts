import {
  type ContainerStatus,
  type FieldError,
  type Pod,
  type PodStatus,
  dns1123Subdomain,
  forbidden,
  invalid,
  hasRestartOfAll,
  type PodSpec,
  qualifiedName,
  restartsAfterExit,
} from '@gantry/objects';
import { IMMUTABLE, invalidAll } from '@gantry/apimachinery';
import { ipFamily, validateIp } from '../../fields/ip.ts';
import { validateAnnotationChange } from '../../pod-spec/annotations.ts';

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** Checks a pod's status and its change. */
export function validatePodStatusChange(object: Pod, old: Pod): FieldError[] {
  const { status = {} } = object;
  const nominated = status.nominatedNodeName ?? '';
  return [
    ...validateAnnotationChange(object, old),
    ...(status.conditions ?? []).flatMap(({ type = '' }, i) =>
      SYSTEM_CONDITIONS.has(type) ? [] : invalidAll(`status.conditions[${i}].Type`, type, qualifiedName(type)),
    ),
    ...(nominated === '' || nominated === old.status?.nominatedNodeName
      ? []
      : invalidAll('status.nominatedNodeName', nominated, dns1123Subdomain(nominated))),
    ...(nominated === '' || nominated === old.status?.nominatedNodeName || (old.spec?.nodeName ?? '') === ''
      ? []
      : [forbidden('status.nominatedNodeName', 'may not be set on pods that are already bound to a node')]),
    ...((status.observedGeneration ?? 0) < 0
      ? [invalid('status.observedGeneration', status.observedGeneration, 'must be a non-negative integer')]
      : []),
    ...((status.qosClass ?? '') === (old.status?.qosClass ?? '')
      ? []
      : [invalid('status.qosClass', status.qosClass ?? '', IMMUTABLE)]),
    ...validateTransitions('containerStatuses', object, old),
    ...validateTransitions('initContainerStatuses', object, old),
    ...validateTransitions('ephemeralContainerStatuses', object, old),
    ...validateAddresses(status.podIPs ?? [], old.status?.podIPs, 'status.podIPs'),
    ...((status.hostIPs ?? []).length === 0 || status.hostIPs?.[0]?.ip === status.hostIP
      ? []
      : [invalid('status.hostIPs[0].ip', status.hostIPs?.[0]?.ip ?? '', 'must be equal to `hostIP`')]),
    ...validateAddresses(status.hostIPs ?? [], old.status?.hostIPs, 'status.hostIPs'),
  ];
}

type Address = Readonly<{ ip?: string }>;

/** Checks addresses: at most one per family. Addresses that are already stored may be invalid. */
function validateAddresses(addresses: readonly Address[], old: readonly Address[] = [], path: string): FieldError[] {
  const kept = old.map(({ ip = '' }) => ip);
  const errors = addresses.flatMap(({ ip = '' }, i) => validateIp(ip, `${path}[${i}]`, kept));
  const families = new Set(addresses.map(({ ip = '' }) => ipFamily(ip)));
  if (addresses.length < 2 || (addresses.length === 2 && families.size === 2)) return errors;
  const shown = addresses.map(({ ip = '' }) => ({ IP: ip }));
  return [...errors, invalid(path, shown, 'may specify no more than one IP for each IP family')];
}

/** Keeps observed generations that the writer left out. Changes `status`. */
export function keepObservedGenerations(status: PodStatus, old: PodStatus | undefined): void {
  const before = old?.observedGeneration ?? 0;
  if ((status.observedGeneration ?? 0) === 0 && before !== 0) status.observedGeneration = before;
  const left = Map.groupBy([...(old?.conditions ?? [])].reverse(), ({ type }) => type);
  for (const condition of status.conditions ?? []) {
    const known = left.get(condition.type)?.pop();
    const generation = known?.observedGeneration ?? 0;
    if ((condition.observedGeneration ?? 0) === 0 && generation !== 0) condition.observedGeneration = generation;
  }
}

/** The containers of the pod for each status list. */
const CONTAINERS = {
  containerStatuses: 'containers',
  initContainerStatuses: 'initContainers',
  ephemeralContainerStatuses: 'ephemeralContainers',
} as const satisfies Partial<Record<keyof PodStatus, keyof PodSpec>>;

/** Checks that a container that has ended for good does not run again. */
function validateTransitions(list: keyof typeof CONTAINERS, object: Pod, old: Pod): FieldError[] {
  const isEphemeral = list === 'ephemeralContainerStatuses';
  if (!isEphemeral && hasRestartOfAll(old.spec)) return [];
  const containers = old.spec?.[CONTAINERS[list]] ?? [];
  const now: readonly ContainerStatus[] = object.status?.[list] ?? [];
  return (old.status?.[list] ?? []).flatMap(({ name, state }, i) => {
    const revived = now.some((status) => status.name === name && status.state?.terminated === undefined);
    if (state?.terminated === undefined || !revived) return [];
    const { exitCode = 0 } = state.terminated;
    const container = containers.find((one) => one.name === name);
    const restarts = container !== undefined && !isEphemeral && restartsAfterExit(old.spec ?? {}, container, exitCode);
    if (restarts) return [];
    return [forbidden(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state')];
  });
}
