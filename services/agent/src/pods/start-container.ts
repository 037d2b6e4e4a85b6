import { errorMessage } from '@gantry/base';
import type { Container, Pod } from '@gantry/objects';
import type { StartContainer } from '../plan/pod-plan.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { ImageInfo } from '../runtime/images.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { localhostProfileName } from '../spec/security.ts';
import { containerSpec, type ContainerSpecInput } from '../spec/container-spec.ts';
import { containerEnvironment } from '../spec/environment.ts';
import { containerPath, formatPod } from '../spec/pod-names.ts';
import { isStaticPod } from '../spec/static-pod.ts';
import { type HookTarget, runHook } from '../probes/run-hook.ts';
import { API_NAMESPACE, serviceVariables } from '../spec/service-variables.ts';
import { sandboxRefusal } from '../spec/pod-rejection.ts';
import type { ContainerMounts } from '../volumes/pod-volumes.ts';
import { ensureImage, type EnsureImageContext } from './ensure-image.ts';
import { runtimeHandler } from './runtime-handler.ts';
import type { WorkerServices } from './worker-services.ts';

/** Where a container is started. */
export interface StartPlace {
  readonly sandbox: SandboxState | undefined;
  /** Name and id of the container whose processes it is to see: '' for no other, undefined when that does not run. */
  readonly target: string;
  readonly targetId: string | undefined;
}

/** A container that was started. */
export interface StartedContainer {
  readonly id: string;
  /** Why its postStart hook failed. */
  readonly hookFailure?: Error;
}

/**
 * Brings one container up in seven steps: images of its volumes, its image, variables, mounts, create, start, postStart hook. Fails with
 * an AgentError that names the step. Only create and start take a slot, so that a pull of minutes does not delay other containers.
 */
export async function startContainer(
  pod: Pod,
  action: StartContainer,
  { sandbox, target, targetId }: StartPlace,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<StartedContainer> {
  const { runtime, events, facts } = services;
  const { container } = action;
  // A sandbox that an earlier version made must not get new containers.
  const refusal = sandboxRefusal(pod);
  if (refusal !== undefined) throw new AgentError('CreateContainerError', refusal);
  if (target !== '' && targetId === undefined) {
    throw new AgentError('CreateContainerConfigError', `unable to find target container ${target}`);
  }
  const podAddress = pod.spec?.hostNetwork === true ? facts.nodeAddress : (sandbox?.address ?? '');
  const path = containerPath(pod, container.name);
  const record = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.event(pod, type, reason, message, path);
  const image = await fetchImages(pod, container, record, services, signal);
  const environment = await variablesOf(pod, container, podAddress, services, signal);
  const security = await securityOf(pod, container, services, signal);
  await using prepared = await prepareMounts(pod, action, environment, podAddress, services);
  const { mounts, terminationMessagePath } = prepared;
  const { owner, engine, privilege, processLimit } = services;
  const spec = containerSpec({
    ...action,
    ...{ owner, pod, environment, mounts, image, engine, privilege, processLimit, terminationMessagePath },
    ...security,
    ...(targetId === undefined ? {} : { targetId }),
    capacityBytes: facts.memoryBytes,
  });
  const id = await services.starts.use(
    async () => {
      const created = await runtime.containers.createContainer(spec, signal);
      record('Normal', 'Created', 'Container created');
      await runtime.containers.startContainer(created, signal);
      return created;
    },
    signal,
    'finish',
  );
  record('Normal', 'Started', 'Container started');
  return { id, ...(await runPostStart(pod, { container, containerId: id, address: podAddress }, services, signal)) };
}

/** The container's image, with those of its image volumes in place. */
async function fetchImages(
  pod: Pod,
  container: Container,
  record: EnsureImageContext['record'],
  services: WorkerServices,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const { config, puller, pulled, runtime, clock, events } = services;
  const context = { pod, config, images: runtime.images, puller, pulled, record, clock };
  const recordOfPod: typeof record = (type, reason, message) => events.event(pod, type, reason, message);
  await services.imageVolumes.mount(pod, container, { ...context, record: recordOfPod }, services, signal);
  return await ensureImage(container, context, signal);
}

async function variablesOf(
  pod: Pod,
  container: Container,
  podAddress: string,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { namespace = '' } = pod.metadata;
  const linked = await services.services.inNamespaces(
    [API_NAMESPACE, namespace],
    // A static pod does not wait for the API server, which it may be.
    isStaticPod(pod) ? 'now' : 'listed',
    signal,
  );
  const base = { ...services.baseEnvironment, ...serviceVariables(pod, linked) };
  const volumeText = (volume: string, file: string) => services.volumes.text(pod, volume, file);
  const { facts, config: source } = services;
  return await containerEnvironment(container, { pod, podAddress, facts, source, volumeText, base }, signal);
}

/** What the pod asks of the engine by name: a low-level runtime, and a seccomp profile of this node. */
async function securityOf(
  pod: Pod,
  container: Container,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<Pick<ContainerSpecInput, 'runtime' | 'localhostProfile'>> {
  const runtime = await runtimeHandler(pod, services, signal);
  const profile = localhostProfileName(pod, container);
  const localhostProfile = profile === undefined ? undefined : await services.seccomp.read(profile);
  return {
    ...(runtime === undefined ? {} : { runtime }),
    ...(localhostProfile === undefined ? {} : { localhostProfile }),
  };
}

/** The container's postStart hook, if it has one. Its failure is not the start's: the container runs, and is to be stopped. */
async function runPostStart(
  pod: Pod,
  { container, containerId, address }: Pick<HookTarget, 'container' | 'containerId' | 'address'>,
  { runtime, clock }: WorkerServices,
  signal: AbortSignal,
): Promise<{ readonly hookFailure?: Error }> {
  const postStart = container.lifecycle?.postStart;
  if (postStart === undefined) return {};
  const network = pod.spec?.hostNetwork === true ? 'host' : 'pod';
  const target = {
    container,
    containerId,
    containers: runtime.containers,
    pod: formatPod(pod),
    address,
    network,
  } as const;
  try {
    await runHook(postStart, target, clock, signal);
    return {};
  } catch (error) {
    signal.throwIfAborted();
    return { hookFailure: error instanceof Error ? error : new Error(errorMessage(error)) };
  }
}

/** The container's mounts. A failure to take their paths away again is logged: the container runs, and the pod's release repeats it. */
async function prepareMounts(
  pod: Pod,
  { container, attempt }: StartContainer,
  environment: ReadonlyMap<string, string>,
  podAddress: string,
  { volumes, logger }: WorkerServices,
): Promise<ContainerMounts> {
  const prepared = await volumes.mounts(pod, container, attempt, environment, podAddress);
  const dispose = async () => {
    try {
      await prepared[Symbol.asyncDispose]();
    } catch (error) {
      logger.warn({ pod: pod.metadata.uid, reason: errorMessage(error) }, "a container's bound paths were not removed");
    }
  };
  return { ...prepared, [Symbol.asyncDispose]: dispose };
}
