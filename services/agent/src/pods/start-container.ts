import { errorMessage } from '@gantry/base';
import type { Container, Pod } from '@gantry/objects';
import type { ContainerStart } from '../plan/pod-plan.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { ContainerSpec } from '../runtime/containers.ts';
import type { ImageInfo } from '../runtime/images.ts';
import { localhostProfileName } from '../spec/security.ts';
import { containerSpec, type ContainerSpecInput } from '../spec/container-spec.ts';
import { containerEnvironment } from '../spec/environment.ts';
import { containerPath, formatPod } from '../spec/pod-names.ts';
import { isStaticPod } from '../spec/static-pod.ts';
import { type HookTarget, runHook } from '../probes/run-hook.ts';
import { API_NAMESPACE, serviceVariables } from '../spec/service-variables.ts';
import { sandboxRefusal } from '../spec/pod-rejection.ts';
import type { ContainerMounts } from '../volumes/pod-volumes.ts';
import { ensureImage, type EnsureImageContext, imageAtHand } from './ensure-image.ts';
import type { Slot } from './slots.ts';
import type { StartServices } from './worker-services.ts';
import { runtimeHandler } from './start-sandbox.ts';

/** Where a container is started. */
export interface StartPlace {
  readonly sandboxId: string;
  /** Of its sandbox. */
  readonly group: ContainerSpec['group'];
  /** Of its sandbox; '' on the host's network. */
  readonly address: string;
  /** Name and id of the container whose processes it is to see: '' for no other, undefined when that does not run. */
  readonly target: string;
  readonly targetId: string | undefined;
}

/** A container that was started. */
export interface StartedContainer {
  readonly id: string;
  /** Why its postStart hook failed. */
  readonly hookFailure?: Error;
  /** The paths that its mounts were made of. It has its mounts: nothing needs to wait until the kernel has taken the paths away. */
  readonly paths: AsyncDisposable;
}

/** A container that was created and waits for its start. The paths of its mounts exist until it is disposed of. */
export interface PreparedContainer extends AsyncDisposable {
  readonly id: string;
  readonly sandboxId: string;
}

/**
 * Brings one container up in seven steps: images of its volumes, its image, variables, mounts, create, start, postStart hook. Fails with
 * an AgentError that names the step. Only create and start take a slot, so that a pull of minutes does not delay other containers.
 */
export async function startContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
): Promise<StartedContainer> {
  refuseContainer(pod, place);
  const image = await fetchImages(pod, next.container, services, signal);
  await using stack = new AsyncDisposableStack();
  const draft = stack.use(await draftContainer(pod, next, image, place, services, signal));
  const start = async () => {
    const id = await create(pod, draft, services, signal);
    await services.runtime.containers.startContainer(id, signal);
    return id;
  };
  const id = await services.startSlots.use(start, signal, 'finish');
  return { ...(await afterStart(pod, next, id, place, services, signal)), paths: stack.move() };
}

/**
 * Creates a container while its sandbox starts, for `startPrepared`. Undefined for one whose images are not at hand: what may take minutes
 * must not hold up the news of the sandbox. Fails as `startContainer` does.
 */
export async function prepareContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
): Promise<PreparedContainer | undefined> {
  const mounted = new Set(next.container.volumeMounts?.map(({ name }) => name));
  if (pod.spec?.volumes?.some(({ name, image }) => image !== undefined && mounted.has(name)) === true) return undefined;
  refuseContainer(pod, place);
  const image = await imageAtHand(next.container, imageContext(pod, next.container, services), signal);
  if (image === undefined) return undefined;
  await using stack = new AsyncDisposableStack();
  const draft = stack.use(await draftContainer(pod, next, image, place, services, signal));
  const id = await create(pod, draft, services, signal);
  const kept = stack.move();
  return { id, sandboxId: place.sandboxId, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Starts what `prepareContainer` has created, in the slot that it may have got from its sandbox. Fails as `startContainer` does. */
export async function startPrepared(
  pod: Pod,
  next: ContainerStart,
  prepared: PreparedContainer,
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
  slot: Slot | undefined,
): Promise<StartedContainer> {
  await using stack = new AsyncDisposableStack();
  stack.use(prepared);
  {
    using _slot = slot?.isHeld === true ? slot : await services.startSlots.take(signal, 'finish');
    await services.runtime.containers.startContainer(prepared.id, signal);
  }
  return { ...(await afterStart(pod, next, prepared.id, place, services, signal)), paths: stack.move() };
}

/** A sandbox that an earlier version made must not get new containers. */
function refuseContainer(pod: Pod, { target, targetId }: StartPlace): void {
  const refusal = sandboxRefusal(pod);
  if (refusal !== undefined) throw new AgentError('CreateContainerError', refusal);
  if (target !== '' && targetId === undefined) {
    throw new AgentError('CreateContainerConfigError', `unable to find target container ${target}`);
  }
}

function addressIn(pod: Pod, { address }: StartPlace, { facts }: StartServices): string {
  return pod.spec?.hostNetwork === true ? facts.nodeAddress : address;
}

/** What the engine is to create. The paths of its mounts exist until it is disposed of. */
interface ContainerDraft extends AsyncDisposable {
  readonly spec: ContainerSpec;
}

async function draftContainer(
  pod: Pod,
  next: ContainerStart,
  image: ImageInfo,
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
): Promise<ContainerDraft> {
  const { container } = next;
  const podAddress = addressIn(pod, place, services);
  const environment = await variablesOf(pod, container, podAddress, services, signal);
  const security = await securityOf(pod, container, image, services, signal);
  const prepared = await prepareMounts(pod, next, environment, podAddress, services, signal);
  const { mounts, devices, terminationMessagePath } = prepared;
  const { owner, engine, privilege, processLimit, facts } = services;
  const { sandboxId, group, targetId } = place;
  const spec = containerSpec({
    ...next,
    ...{
      sandboxId,
      group,
      owner,
      pod,
      environment,
      mounts,
      devices,
      image,
      engine,
      privilege,
      processLimit,
      terminationMessagePath,
    },
    ...security,
    targetId,
    capacityBytes: facts.capacity().memoryBytes,
  });
  return { spec, [Symbol.asyncDispose]: () => prepared[Symbol.asyncDispose]() };
}

async function create(
  pod: Pod,
  { spec }: ContainerDraft,
  { runtime, events }: StartServices,
  signal: AbortSignal,
): Promise<string> {
  const id = await runtime.containers.createContainer(spec, signal);
  events.event(pod, 'Normal', 'Created', 'Container created', containerPath(pod, spec.name));
  return id;
}

async function afterStart(
  pod: Pod,
  { container }: ContainerStart,
  containerId: string,
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
): Promise<Omit<StartedContainer, 'paths'>> {
  services.events.event(pod, 'Normal', 'Started', 'Container started', containerPath(pod, container.name));
  const address = addressIn(pod, place, services);
  return { id: containerId, ...(await runPostStart(pod, { container, containerId, address }, services, signal)) };
}

/** The container's image, with those of its image volumes in place. */
async function fetchImages(
  pod: Pod,
  container: Container,
  services: StartServices,
  signal: AbortSignal,
): Promise<ImageInfo> {
  const { events } = services;
  const context = imageContext(pod, container, services);
  const recordOfPod: EnsureImageContext['record'] = (type, reason, message) => events.event(pod, type, reason, message);
  await services.imageVolumes.mount(pod, container, { ...context, record: recordOfPod }, services, signal);
  return await ensureImage(container, context, signal);
}

function imageContext(pod: Pod, container: Container, services: StartServices): EnsureImageContext {
  const { config, puller, pulled, runtime, clock, events } = services;
  const path = containerPath(pod, container.name);
  const record: EnsureImageContext['record'] = (type, reason, message) =>
    events.event(pod, type, reason, message, path);
  return { pod, config, images: runtime.images, puller, pulled, record, clock };
}

async function variablesOf(
  pod: Pod,
  container: Container,
  podAddress: string,
  services: StartServices,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const { namespace = '' } = pod.metadata;
  const linked = await services.linkedServices.inNamespaces(
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

/** What the pod asks for by name: a low-level runtime, a seccomp profile of this node, and a user of the image. */
async function securityOf(
  pod: Pod,
  container: Container,
  image: ImageInfo,
  services: StartServices,
  signal: AbortSignal,
): Promise<Pick<ContainerSpecInput, 'runtime' | 'localhostProfile' | 'imageUser'>> {
  const runtime = await runtimeHandler(pod, services, signal);
  const profile = localhostProfileName(pod, container);
  const localhostProfile = profile === undefined ? undefined : await services.seccomp.read(profile);
  const imageUser = await services.imageUsers.find(pod, container, image, services, signal);
  return { runtime, localhostProfile, imageUser };
}

/** The container's postStart hook, if it has one. Its failure is not the start's: the container runs, and is to be stopped. */
async function runPostStart(
  pod: Pod,
  { container, containerId, address }: Pick<HookTarget, 'container' | 'containerId' | 'address'>,
  { runtime, clock }: StartServices,
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
  { container, attempt }: ContainerStart,
  environment: ReadonlyMap<string, string>,
  podAddress: string,
  { volumes, logger }: StartServices,
  signal: AbortSignal,
): Promise<ContainerMounts> {
  const prepared = await volumes.mounts(pod, container, attempt, environment, podAddress, signal);
  const dispose = async () => {
    try {
      await prepared[Symbol.asyncDispose]();
    } catch (error) {
      logger.warn({ pod: pod.metadata.uid, reason: errorMessage(error) }, "a container's bound paths were not removed");
    }
  };
  return { ...prepared, [Symbol.asyncDispose]: dispose };
}
