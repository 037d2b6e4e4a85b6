import type { Container, Pod, SecurityContext } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSecurity } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { appArmorOf } from './app-armor.ts';
import { formatPod } from './pod-names.ts';

/** The kernel's ids that engines accept. */
const MAX_ID = 2 ** 31 - 1;

/**
 * The security context of a container: its own fields, else the pod's. AgentError 'CreateContainerConfigError' when
 * `runAsNonRoot` cannot be guaranteed, 'CreateContainerError' for a seccomp profile that this node cannot apply. What makes a
 * whole pod impossible is `podRejection`'s and `sandboxRefusal`'s.
 */
export function containerSecurity(
  pod: Pod,
  container: Container,
  image: ImageInfo,
  engine: EngineInfo,
  localhostProfile: string | undefined,
): ContainerSecurity {
  const own = container.securityContext ?? {};
  const shared = pod.spec?.securityContext ?? {};
  const user = own.runAsUser ?? shared.runAsUser;
  const group = own.runAsGroup ?? shared.runAsGroup;
  if ((own.runAsNonRoot ?? shared.runAsNonRoot) === true) requireNonRoot(pod, container, user, image);
  const groups = [...(shared.supplementalGroups ?? []), ...(shared.fsGroup === undefined ? [] : [shared.fsGroup])];
  const name = user === undefined ? undefined : String(user);
  const privilege = own.privileged === true ? 'privileged' : 'ordinary';
  return {
    ...(name === undefined && group === undefined
      ? {}
      : { user: group === undefined ? (name ?? '') : `${name ?? (image.user.split(':')[0] || '0')}:${group}` }),
    groups: groups.map(String),
    privilege,
    capabilities: { add: own.capabilities?.add ?? [], drop: own.capabilities?.drop ?? [] },
    rootFilesystem: own.readOnlyRootFilesystem === true ? 'read-only' : 'read-write',
    escalation: own.allowPrivilegeEscalation === false ? 'denied' : 'allowed',
    seccomp:
      privilege === 'privileged' ? 'unconfined' : seccompOf(seccompProfile(pod, container), engine, localhostProfile),
    appArmor: appArmorOf(pod, container),
    seLinux: seLinuxOf(own.seLinuxOptions ?? shared.seLinuxOptions),
    proc: own.procMount === 'Unmasked' ? 'unmasked' : 'masked',
  };
}

/** The path of the node's seccomp profile that a container asks for; undefined when it asks for none, or is privileged. */
export function localhostProfileName(pod: Pod, container: Container): string | undefined {
  const profile = seccompProfile(pod, container);
  if (profile?.type !== 'Localhost' || container.securityContext?.privileged === true) return undefined;
  return profile.localhostProfile ?? '';
}

function seccompProfile(pod: Pod, { securityContext }: Container): SecurityContext['seccompProfile'] {
  return securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
}

/** Without a profile a container gets the engine's default, as kubelet's `seccompDefault` gives it. */
function seccompOf(
  profile: SecurityContext['seccompProfile'],
  engine: EngineInfo,
  localhostProfile: string | undefined,
): ContainerSecurity['seccomp'] {
  const type = profile?.type;
  if (type === 'Unconfined') return 'unconfined';
  if (type === 'Localhost') {
    if (engine.seccomp === 'unavailable') throw new AgentError('CreateContainerError', 'seccomp is not supported');
    if (localhostProfile !== undefined) return { profile: localhostProfile };
    const name = JSON.stringify(profile?.localhostProfile ?? '');
    throw new AgentError('CreateContainerError', `cannot load seccomp profile ${name}: this node has no profiles`);
  }
  if (type !== undefined && engine.seccomp !== 'default-profile') {
    const why = engine.seccomp === 'unavailable' ? '' : ': the default profile of the engine is unconfined';
    throw new AgentError('CreateContainerError', `seccomp is not supported${why}`);
  }
  return 'engine-default';
}

function seLinuxOf(options: SecurityContext['seLinuxOptions'] = {}): ContainerSecurity['seLinux'] {
  const { user = '', role = '', type = '', level = '' } = options;
  return Object.fromEntries(Object.entries({ user, role, type, level }).filter(([, value]) => value !== ''));
}

/**
 * Kubelet's rule: an image's numeric user is read as Go reads integers (`00` and `+0` are root), and a name proves nothing, since
 * the image's own /etc/passwd decides its id. An id that does not fit is refused: truncated to 32 bits it may be root.
 */
function requireNonRoot(pod: Pod, container: Container, user: number | undefined, image: ImageInfo): void {
  const where = `(pod: "${formatPod(pod)}", container: ${container.name})`;
  if (user !== undefined) {
    if (user === 0) throw refused(`container's runAsUser breaks non-root policy ${where}`);
    if (!isId(user)) {
      throw refused(
        `container has runAsNonRoot and runAsUser ${user} is not an id, cannot verify user is non-root ${where}`,
      );
    }
    return;
  }
  const name = image.user.split(':')[0] ?? '';
  const isNumeric = /^[+-]?\d+$/.test(name);
  if (name === '' || (isNumeric && Number(name) === 0)) {
    throw refused(`container has runAsNonRoot and image will run as root ${where}`);
  }
  if (!isNumeric) {
    throw refused(
      `container has runAsNonRoot and image has non-numeric user (${name}), cannot verify user is non-root ${where}`,
    );
  }
  if (!isId(Number(name))) {
    throw refused(
      `container has runAsNonRoot and image has user ${name}, which is not an id, cannot verify user is non-root ${where}`,
    );
  }
}

function isId(id: number): boolean {
  return Number.isInteger(id) && id >= 0 && id <= MAX_ID;
}

function refused(message: string): AgentError {
  return new AgentError('CreateContainerConfigError', message);
}
