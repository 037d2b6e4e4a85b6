import { type FieldError, forbidden } from '../../field-error.ts';
import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { invalidAll } from './errors.ts';
import { validateIp } from './ip.ts';
import { dns1123Subdomain, qualifiedName } from './names.ts';

const SYSTEM_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

/** What a status may say of a pod, and how it may change. */
export function validatePodStatusChange(object: Pod, old: Pod): FieldError[] {
  const { status = {} } = object;
  const { restartPolicy = 'Always', initContainers = [] } = old.spec ?? {};
  const sidecars = new Set(initContainers.filter((one) => one.restartPolicy === 'Always').map(({ name }) => name));
  const nominated = status.nominatedNodeName ?? '';
  return [
    // The path is Kubernetes' own.
    ...(status.conditions ?? []).flatMap(({ type = '' }, i) =>
      SYSTEM_CONDITIONS.has(type) ? [] : invalidAll(`metadata.conditions[${i}].Type`, type, qualifiedName(type)),
    ),
    ...(nominated === '' || nominated === old.status?.nominatedNodeName
      ? []
      : invalidAll('status.nominatedNodeName', nominated, dns1123Subdomain(nominated))),
    ...validateTransitions('containerStatuses', object, old, restartPolicy),
    ...validateTransitions('initContainerStatuses', object, old, restartPolicy, sidecars),
    ...validateTransitions('ephemeralContainerStatuses', object, old, 'Never'),
    ...(status.podIPs ?? []).flatMap(({ ip = '' }, i) => validateIp(ip, `status.podIPs[${i}]`)),
    ...(status.hostIPs ?? []).flatMap(({ ip = '' }, i) => validateIp(ip, `status.hostIPs[${i}]`)),
  ];
}

type StatusList = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses';

/** A container that has ended for good does not come back. */
function validateTransitions(
  list: StatusList,
  object: Pod,
  old: Pod,
  restartPolicy: string,
  restartable: ReadonlySet<string> = new Set(),
): FieldError[] {
  if (restartPolicy === 'Always') return [];
  const now: readonly ContainerStatus[] = object.status?.[list] ?? [];
  return (old.status?.[list] ?? []).flatMap(({ name, state }, i) => {
    const ended = state?.terminated;
    if (ended === undefined || restartable.has(name)) return [];
    if (restartPolicy === 'OnFailure' && ended.exitCode !== 0) return [];
    const revived = now.some((status) => status.name === name && status.state?.terminated === undefined);
    return revived ? [forbidden(`status.${list}[${i}].state`, 'may not be transitioned to non-terminated state')] : [];
  });
}
