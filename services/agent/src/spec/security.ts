import { type Container, type Pod, type SecurityContext, APP_ARMOR_PREFIX } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSecurity, AppArmor } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { GROUP, type ImageUser } from './image-user.ts';
import { formatPod } from './pod-names.ts';

const LOCALHOST = 'localhost/';
/** The largest uid or gid that engines accept. */
const MAX_ID = 2 ** 31 - 1;

/** Input that the node determines before it creates a container. */
export interface SecurityFindings {
  /** The text of the seccomp profile that `localhostProfileName` names; absent: the node does not have it. */
  readonly localhostProfile?: string;
  /** The resolved user that `imageUserName` names; absent: not resolved, and the pod does not need it. */
  readonly imageUser?: ImageUser;
}

/**
 * The user to resolve in the image's files in order to know a container's ids and groups. `needed`: the pod sets a group or a policy for
 * groups. The engine resolves users itself, but adds the image's groups only when no group is given.
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
 * The security context of a container: its own fields override the pod's. AgentError 'CreateContainerConfigError' when `runAsNonRoot`
 * cannot be guaranteed, 'CreateContainerError' for a seccomp profile that this node cannot apply. Checks that concern the whole pod are
 * in `podRejection` and `sandboxRefusal`.
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

/** A container's requested ids. fsGroup is separate from `groups`, because any pod with volumes may have it. */
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

/** The user of an image, without its group; '' means root. */
function userOf({ user }: Pick<ImageInfo, 'user'>): string {
  return user.split(':')[0] ?? '';
}

type UserOptions = Pick<ContainerSecurity, 'user' | 'groups' | 'processUser'>;

/**
 * The user options for the engine. When the pod does not set groups, the engine resolves the user; the image's files, if they were read,
 * only determine `processUser`. When the pod sets groups, the engine gets all ids and resolves nothing: a group in `user` keeps the
 * engine from adding the image's groups. `Strict` omits these groups; otherwise they are passed explicitly.
 */
function userOptions(pod: Pod, container: Container, image: ImageInfo, found: ImageUser | undefined): UserOptions {
  const { uid, gid: wantedGid, groups, policy, fsGroup } = wantedIds(pod, container);
  const { use, name } = imageUserName(pod, container, image);
  // The kubelet's order.
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

/** The ids of an image's user, as far as they are known without the image's files. */
function known({ user }: ImageInfo, groupsOfPod: readonly number[]): Pick<UserOptions, 'processUser'> {
  const ids = /^(\d+):(\d+)$/.exec(user);
  // The image's files may map a group number of the pod to another group.
  if (ids === null || groupsOfPod.length > 0) return {};
  const [uid, gid] = [Number(ids[1]), Number(ids[2])];
  return { processUser: { uid, gid, groups: [gid] } };
}

/** The path of the seccomp profile on the node that a container requests; undefined without one, and for privileged containers. */
export function localhostProfileName(pod: Pod, container: Container): string | undefined {
  const profile = seccompProfile(pod, container);
  if (profile?.type !== 'Localhost' || container.securityContext?.privileged === true) return undefined;
  return profile.localhostProfile ?? '';
}

function seccompProfile(pod: Pod, { securityContext }: Container): SecurityContext['seccompProfile'] {
  return securityContext?.seccompProfile ?? pod.spec?.securityContext?.seccompProfile;
}

/** Without a profile, a container gets the engine's default, like with the kubelet's `seccompDefault`. */
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
 * Checks `runAsNonRoot` with the kubelet's rules. An image's numeric user is parsed like Go integers (`00` and `+0` are root). A user
 * name proves nothing, because the image's own /etc/passwd decides its id. An id that is too large is refused, since truncated to 32 bits
 * it may be root.
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

/** The AppArmor profile of a container, like in the kubelet: its own field, then the pod's, then the annotation. */
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

/** Kubernetes' older annotation: `runtime/default`, `unconfined` or `localhost/NAME`. */
function fromAnnotation(value: string): AppArmor {
  if (value === '') return { kind: 'engine-default' };
  if (value === 'unconfined') return { kind: 'unconfined' };
  if (value.startsWith(LOCALHOST)) return { kind: 'profile', name: value.slice(LOCALHOST.length) };
  return { kind: 'runtime-default' };
}
