import { type FieldError, forbidden } from '../../field-error.ts';
import type { ContainerStatus, Pod } from '../../generated/types.ts';
import { validateIp } from './ip.ts';

/** What a status may say of a pod, and how it may change. */
export function validatePodStatusChange(object: Pod, old: Pod): FieldError[] {
  const { status = {} } = object;
  const policy = object.spec?.restartPolicy;
  return [
    ...(status.podIPs ?? []).flatMap(({ ip = '' }, i) => validateIp(ip, `status.podIPs[${i}]`)),
    ...(status.hostIPs ?? []).flatMap(({ ip = '' }, i) => validateIp(ip, `status.hostIPs[${i}]`)),
    ...validateTransitions(status.containerStatuses, old.status?.containerStatuses, policy, 'status.containerStatuses'),
  ];
}

/** A container that has ended for good does not come back. */
function validateTransitions(
  statuses: readonly ContainerStatus[] | undefined,
  before: readonly ContainerStatus[] | undefined,
  restartPolicy: string | undefined,
  path: string,
): FieldError[] {
  if (restartPolicy === undefined || restartPolicy === 'Always') return [];
  return (before ?? []).flatMap(({ name, state }) => {
    const ended = state?.terminated;
    if (ended === undefined || (restartPolicy === 'OnFailure' && ended.exitCode !== 0)) return [];
    const i = (statuses ?? []).findIndex((status) => status.name === name);
    return i < 0 || statuses?.[i]?.state?.terminated !== undefined
      ? []
      : [forbidden(`${path}[${i}].state`, 'may not be transitioned to non-terminated state')];
  });
}
