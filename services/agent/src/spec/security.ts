import type { Container, Pod } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSecurity } from '../runtime/containers.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { formatPod } from './pod-names.ts';

/**
 * The security context of a container: its own fields, else the pod's. AgentError 'CreateContainerConfigError' when
 * `runAsNonRoot` cannot be guaranteed.
 */
export function containerSecurity(pod: Pod, container: Container, image: ImageInfo): ContainerSecurity {
  const own = container.securityContext ?? {};
  const shared = pod.spec?.securityContext ?? {};
  const user = own.runAsUser ?? shared.runAsUser;
  const group = own.runAsGroup ?? shared.runAsGroup;
  if ((own.runAsNonRoot ?? shared.runAsNonRoot) === true) requireNonRoot(pod, container, user, image);
  const groups = [...(shared.supplementalGroups ?? []), ...(shared.fsGroup === undefined ? [] : [shared.fsGroup])];
  const name = user === undefined ? undefined : String(user);
  return {
    ...(name === undefined && group === undefined
      ? {}
      : { user: group === undefined ? (name ?? '') : `${name ?? (image.user.split(':')[0] || '0')}:${group}` }),
    groups: groups.map(String),
    privilege: own.privileged === true ? 'privileged' : 'ordinary',
    capabilities: { add: own.capabilities?.add ?? [], drop: own.capabilities?.drop ?? [] },
    rootFilesystem: own.readOnlyRootFilesystem === true ? 'read-only' : 'read-write',
    escalation: own.allowPrivilegeEscalation === false ? 'denied' : 'allowed',
  };
}

function requireNonRoot(pod: Pod, container: Container, user: number | undefined, image: ImageInfo): void {
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  const imageUser = image.user.split(':')[0] ?? '';
  if (user !== undefined) {
    if (user !== 0) return;
    throw refused(`container's runAsUser breaks non-root policy ${where}`);
  }
  if (imageUser === '' || imageUser === '0' || imageUser === 'root') {
    throw refused(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (!/^\d+$/.test(imageUser)) {
    throw refused(
      `container has runAsNonRoot and image has non-numeric user (${imageUser}), cannot verify user is non-root ${where}`,
    );
  }
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}
