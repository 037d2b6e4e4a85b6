import type { Container, Pod } from '@gantry/api';
import { AgentError } from '../agent-error.ts';
import type { Owner, PodIdentity } from '../runtime/labels.ts';
import type { ContainerSecurity, ContainerSpec, EnginePrivilege, ImageInfo, MountSpec } from '../runtime/runtime.ts';
import { expand } from './expand.ts';
import { containerHash, formatPod, graceSecondsOf } from './pod-containers.ts';
import { oomScore, resourceLimits } from './resources.ts';

/** The identity of a pod for labels and names. */
export function identityOf(pod: Pod): PodIdentity {
  return {
    uid: pod.metadata.uid ?? '',
    namespace: pod.metadata.namespace ?? '',
    name: pod.metadata.name ?? '',
  };
}

export interface ContainerSpecInput {
  readonly owner: Owner;
  readonly pod: Pod;
  readonly container: Container;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly restartDelayMs: number;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly MountSpec[];
  readonly image: ImageInfo;
  readonly engine: EnginePrivilege;
  readonly capacityBytes: number;
  readonly terminationMessagePath?: string;
}

/** A container of a pod as the runtime wants it. AgentError 'CreateContainerConfigError' for what cannot be. */
export function containerSpec(input: ContainerSpecInput): ContainerSpec {
  const { owner, pod, container, environment, engine } = input;
  const texts = (list: readonly string[] | undefined) => list?.map((text) => expand(text, environment));
  const command = texts(container.command);
  const args = texts(container.args);
  return {
    owner,
    pod: identityOf(pod),
    name: container.name,
    attempt: input.attempt,
    sandboxId: input.sandboxId,
    hash: containerHash(container),
    image: container.image ?? '',
    ...(command === undefined || command.length === 0 ? {} : { command }),
    ...(args === undefined || args.length === 0 ? {} : { args }),
    ...(container.workingDir === undefined ? {} : { workingDir: container.workingDir }),
    env: [...environment].map(([name, value]) => ({ name, value })),
    mounts: input.mounts,
    resources: resourceLimits(container),
    security: containerSecurity(pod, container, input.image),
    processes:
      pod.spec?.hostPID === true ? 'host' : pod.spec?.shareProcessNamespace === true ? 'shared-with-pod' : 'own',
    stdin: container.stdin === true ? (container.stdinOnce === true ? 'open-once' : 'open') : 'closed',
    terminal: container.tty === true ? 'tty' : 'none',
    oomScoreAdj: oomScore(pod, container, input.capacityBytes, engine),
    restartDelayMs: input.restartDelayMs,
    graceSeconds: graceSecondsOf(pod),
    ...(input.terminationMessagePath === undefined ? {} : { terminationMessagePath: input.terminationMessagePath }),
  };
}

function containerSecurity(pod: Pod, container: Container, image: ImageInfo): ContainerSecurity {
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
    throw new AgentError('CreateContainerConfigError', `container's runAsUser breaks non-root policy ${where}`);
  }
  if (imageUser === '' || imageUser === '0' || imageUser === 'root') {
    throw new AgentError(
      'CreateContainerConfigError',
      `container has runAsNonRoot and image will run as root ${where}`,
    );
  }
  if (!/^\d+$/.test(imageUser)) {
    throw new AgentError(
      'CreateContainerConfigError',
      `container has runAsNonRoot and image has non-numeric user (${imageUser}), cannot verify user is non-root ${where}`,
    );
  }
}
