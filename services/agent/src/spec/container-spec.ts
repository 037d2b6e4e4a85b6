import type { Container, Pod } from '@gantry/objects';
import type { ContainerSpec, DeviceSpec, MountSpec, ContainerProcess } from '../runtime/containers.ts';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { ImageInfo } from '../runtime/images.ts';
import type { Instances, Owner } from '../runtime/labels.ts';
import { oomScore } from './oom-score.ts';
import { containerHash, graceSecondsOf } from './pod-containers.ts';
import { identityOf } from './pod-names.ts';
import { resourceLimits } from './resources.ts';
import { containerSecurity, type SecurityFindings } from './security.ts';
import { expandCommand } from './expand.ts';
import { ProgramSize } from './program-size.ts';

/** The container, its pod, and the results of the steps before its creation. */
export interface ContainerSpecInput extends SecurityFindings {
  readonly owner: Owner;
  readonly pod: Pod;
  /** Absent: any. */
  readonly instances?: Instances;
  readonly container: Container;
  readonly attempt: number;
  readonly sandboxId: string;
  /** The control group of its sandbox. */
  readonly group: ContainerSpec['group'];
  readonly restartDelayMs: number;
  readonly environment: ReadonlyMap<string, string>;
  readonly mounts: readonly MountSpec[];
  readonly devices: readonly DeviceSpec[];
  readonly image: ImageInfo;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  /** The handler of the pod's RuntimeClass. */
  readonly runtime?: string;
  /** The container whose process namespace this one joins. */
  readonly targetId?: string;
  readonly capacityBytes: number;
  readonly processLimit: ContainerSpec['processLimit'];
  readonly terminationMessagePath?: string;
}

/**
 * The runtime's definition of a pod's container; each group of fields is computed in its own file. AgentError
 * 'CreateContainerConfigError' for a spec that cannot run.
 */
export function containerSpec(input: ContainerSpecInput): ContainerSpec {
  const { owner, pod, container, image, mounts, devices, terminationMessagePath } = input;
  return {
    owner,
    pod: identityOf(pod),
    name: container.name,
    attempt: input.attempt,
    sandboxId: input.sandboxId,
    hash: containerHash(container),
    restartDelayMs: input.restartDelayMs,
    graceSeconds: graceSecondsOf(pod),
    instances: input.instances,
    terminationMessagePath,
    ...processOf(container, input.environment, image),
    runtime: input.runtime,
    mounts,
    devices,
    resources: resourceLimits(pod, container),
    group: input.group,
    processLimit: input.processLimit,
    oomScoreAdj: oomScore(pod, container, input.capacityBytes, input.privilege),
    security: containerSecurity(pod, container, image, input.engine, input),
    processes: processNamespace(pod, input.targetId),
    ipc: pod.spec?.hostIPC === true ? 'host' : 'shared-with-pod',
  };
}

/** The process of the container: image, command, arguments, environment variables and terminal. */
function processOf(
  container: Container,
  environment: ReadonlyMap<string, string>,
  image: ImageInfo,
): Omit<ContainerProcess, 'runtime'> {
  const { workingDir } = container;
  const size = new ProgramSize();
  for (const [name, value] of environment) size.addVariable(name, Buffer.byteLength(value));
  const command = expandCommand('command', container.command ?? [], environment, size);
  const args = expandCommand('args', container.args ?? [], environment, size);
  return {
    image: image.id,
    imageLabels: image.labels,
    ...(command.length === 0 ? {} : { command }),
    ...(args.length === 0 ? {} : { args }),
    workingDir,
    stopSignal: container.lifecycle?.stopSignal,
    env: [...environment].map(([name, value]) => ({ name, value })),
    stdin: container.stdin === true ? (container.stdinOnce === true ? 'open-once' : 'open') : 'closed',
    terminal: container.tty === true ? 'tty' : 'none',
  };
}

/**
 * The process namespace of a container; with `targetId`, the namespace of that container. Network and IPC always come from the sandbox.
 */
function processNamespace({ spec }: Pod, targetId: string | undefined): ContainerSpec['processes'] {
  if (targetId !== undefined && spec?.hostPID !== true && spec?.shareProcessNamespace !== true) {
    return { containerId: targetId };
  }
  if (spec?.hostPID === true) return 'host';
  return spec?.shareProcessNamespace === true ? 'shared-with-pod' : 'own';
}
