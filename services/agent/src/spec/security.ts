import { type Container, type Pod, type SecurityContext, APP_ARMOR_PREFIX } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSecurity, AppArmor } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { GROUP, type ImageUser } from './image-user.ts';
import { formatPod } from './pod-names.ts';

const LOCALHOST = 'localhost/';
/** The kernel's ids that engines accept. */
const MAX_ID = 2 ** 31 - 1;

/** What the node found out for a container before it is created. */
export interface SecurityFindings {
  /** The text of the node's seccomp profile that `localhostProfileName` names; absent: the node has none. */
  readonly localhostProfile?: string;
  /** What `imageUserName` is in the image; absent: not known, and not asked for by the pod. */
  readonly imageUser?: ImageUser;
}

/**
 * The user of an image whose ids and groups tell what a container runs with. `needed`: its pod asks about groups. The engine looks a
 * user up by itself, but gives it the image's groups only where no group is named.
 */
export function imageUserName(
  pod: Pod,
  container: Container,
  image: Pick<ImageInfo, 'user'>,
): { readonly name: string; readonly use: 'needed' | 'if-known' } {
  const { uid, gid, groups, policy } = wantedIds(pod, container);
  const name = uid === undefined ? (gid === undefined ? image.user : userOf(image)) : String(uid);
  const isAsked = gid !== undefined || policy !== undefined || groups.length > 0;
  return { name, use: isAsked ? 'needed' : 'if-known' };
}

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
  { localhostProfile, imageUser }: SecurityFindings,
): ContainerSecurity {
  const own = container.securityContext ?? {};
  const shared = pod.spec?.securityContext ?? {};
  const nonRoot = own.runAsNonRoot ?? shared.runAsNonRoot;
  if (nonRoot === true) requireNonRoot(pod, container, own.runAsUser ?? shared.runAsUser, image);
  const privilege = own.privileged === true ? 'privileged' : 'ordinary';
  return {
    ...userOptions(pod, container, image, imageUser),
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

/** What a pod says of a container's ids; `groups` without fsGroup, which every volume may have. */
function wantedIds(pod: Pod, { securityContext: own = {} }: Container) {
  const { securityContext: shared = {} } = pod.spec ?? {};
  return {
    uid: own.runAsUser ?? shared.runAsUser,
    gid: own.runAsGroup ?? shared.runAsGroup,
    groups: shared.supplementalGroups ?? [],
    policy: shared.supplementalGroupsPolicy,
    fsGroup: shared.fsGroup,
  };
}

/** An image's user without its group; '' for root. */
function userOf({ user }: Pick<ImageInfo, 'user'>): string {
  return user.split(':')[0] ?? '';
}

type UserOptions = Pick<ContainerSecurity, 'user' | 'groups' | 'processUser'>;

/**
 * A user that the pod does not ask about is looked up by the engine, whether or not the image's files were read for another pod: they
 * only tell who it is then. For a pod that asks, the engine is told all ids, and looks up nothing: a group in the user's name keeps the
 * engine from adding the groups of the image, which `Strict` leaves out and every other pod gets.
 */
function userOptions(pod: Pod, container: Container, image: ImageInfo, found: ImageUser | undefined): UserOptions {
  const { uid, gid: wantedGid, groups, policy, fsGroup } = wantedIds(pod, container);
  const { use, name } = imageUserName(pod, container, image);
  // In the kubelet's order.
  const ofPod = [...(fsGroup === undefined ? [] : [fsGroup]), ...groups];
  const user = uid === undefined ? {} : { user: String(uid) };
  if (found === undefined) {
    if (use === 'needed') throw new AgentError('CreateContainerError', `the groups of user ${name} are not known`);
    return { ...user, groups: ofPod.map(String), ...(uid === undefined ? known(image, ofPod) : {}) };
  }
  const gid = wantedGid ?? found.gid;
  const isGroupOfImage = use === 'if-known' && uid === undefined && image.user.includes(':');
  const ofImage = policy === 'Strict' || isGroupOfImage ? [] : found.groups;
  const added = [...new Set([...ofImage, ...ofPod])].filter((id) => id !== gid);
  const processUser = { uid: found.uid, gid, groups: [gid, ...added] };
  const told = use === 'needed' ? added : ofPod;
  const misnamed = told.find((id) => found.misnamed.has(id));
  if (use === 'if-known') {
    return { ...user, groups: told.map(String), ...(misnamed === undefined ? { processUser } : {}) };
  }
  if (misnamed !== undefined) {
    const other = found.misnamed.get(misnamed);
    const message = `${GROUP} of the image has the name ${misnamed} for group ${other}, which the engine takes for group ${misnamed}`;
    throw new AgentError('CreateContainerError', message);
  }
  return { user: `${found.uid}:${gid}`, groups: told.map(String), processUser };
}

/** What an image's own user says without its files. */
function known({ user }: ImageInfo, groupsOfPod: readonly number[]): Pick<UserOptions, 'processUser'> {
  const ids = /^(\d+):(\d+)$/.exec(user);
  // The image may have a name for a group of the pod.
  if (ids === null || groupsOfPod.length > 0) return {};
  const [uid, gid] = [Number(ids[1]), Number(ids[2])];
  return { processUser: { uid, gid, groups: [gid] } };
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

/** The profile of a container: its own field, else the pod's, else its annotation, as kubelet reads them. */
export function appArmorOf(pod: Pod, container: Container): AppArmor {
  const profile = container.securityContext?.appArmorProfile ?? pod.spec?.securityContext?.appArmorProfile;
  if (profile === undefined) return fromAnnotation(pod.metadata.annotations?.[APP_ARMOR_PREFIX + container.name] ?? '');
  switch (profile.type) {
    case 'Unconfined':
      return { kind: 'unconfined' };
    case 'Localhost':
      return { kind: 'profile', name: profile.localhostProfile ?? '' };
    default:
      return { kind: 'runtime-default' };
  }
}

/** Kubernetes' annotation from before the field: `runtime/default`, `unconfined` or `localhost/NAME`. */
function fromAnnotation(value: string): AppArmor {
  if (value === '') return { kind: 'engine-default' };
  if (value === 'unconfined') return { kind: 'unconfined' };
  if (value.startsWith(LOCALHOST)) return { kind: 'profile', name: value.slice(LOCALHOST.length) };
  return { kind: 'runtime-default' };
}
