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
import type { Turns } from '../probes/pod-commands.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import type { Slot } from './slots.ts';
import type { StartServices } from './worker-services.ts';
import { runtimeHandler } from './start-sandbox.ts';

/** Where a container starts. */
export interface StartPlace {
  readonly sandboxId: string;
  /** The control group of its sandbox. */
  readonly group: ContainerSpec['group'];
  /** The address of its sandbox; '' on the host's network. */
  readonly address: string;
  /**
   * Name and id of the container whose process namespace it joins. The name is '' for none; the id is undefined when the target does not
   * run.
   */
  readonly target: string;
  readonly targetId: string | undefined;
}

/** A started container. */
export interface StartedContainer {
  readonly id: string;
  /** Why its postStart hook failed. */
  readonly hookFailure?: Error;
  /** The bound paths of its mounts. The container already has its mounts, so nobody has to wait for the disposal of the paths. */
  readonly paths: AsyncDisposable;
}

/** A created container that is not started yet. The bound paths of its mounts exist until it is disposed of. */
export interface PreparedContainer extends AsyncDisposable {
  readonly id: string;
  readonly sandboxId: string;
}

/** Checked between creating and starting a container, since the pull of an image can take minutes. */
type StartGate = Pick<FreshnessGate, 'mustBeOpen'>;

/**
 * Starts one container in seven steps: images of its volumes, its image, environment variables, mounts, create, start, postStart hook.
 * Fails with an AgentError that names the step. Only create and start need a slot, so a pull of several minutes does not delay other
 * containers. Definitions are made in the turns of `drafts`: each can have megabytes, and a pod can have thousands of containers.
 */
export async function startContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  { drafts, gate }: { readonly drafts: Turns; readonly gate: StartGate },
  services: StartServices,
  signal: AbortSignal,
): Promise<StartedContainer> {
  refuseContainer(pod, place);
  const image = await fetchImages(pod, next.container, services, signal);
  await using stack = new AsyncDisposableStack();
  const createAndStart = async () => {
    const draft = stack.use(await draftContainer(pod, next, image, place, services, signal));
    const start = async () => {
      const id = await create(pod, draft, services, signal);
      gate.mustBeOpen();
      await services.runtime.containers.startContainer(id, signal);
      return id;
    };
    return await services.startSlots.use(start, signal, 'finish');
  };
  const id = await drafts.use(createAndStart, signal);
  return { ...(await afterStart(pod, next, id, place, services, signal)), paths: stack.move() };
}

/** A created container, and the slot that its sandbox may have passed on. */
export interface PreparedStart {
  readonly container: PreparedContainer;
  readonly slot?: Slot;
}

/**
 * Creates a container while its sandbox starts, for `startPrepared`. Undefined when its images are not present, because a long pull must
 * not delay the report of the sandbox. Fails like `startContainer`.
 */
export async function prepareContainer(
  pod: Pod,
  next: ContainerStart,
  place: StartPlace,
  drafts: Turns,
  services: StartServices,
  signal: AbortSignal,
): Promise<PreparedContainer | undefined> {
  const mounted = new Set(next.container.volumeMounts?.map(({ name }) => name));
  if (pod.spec?.volumes?.some(({ name, image }) => image !== undefined && mounted.has(name)) === true) return undefined;
  refuseContainer(pod, place);
  const image = await imageAtHand(next.container, imageContext(pod, next.container, services), signal);
  if (image === undefined) return undefined;
  await using stack = new AsyncDisposableStack();
  const draftAndCreate = async () => {
    const draft = stack.use(await draftContainer(pod, next, image, place, services, signal));
    return await create(pod, draft, services, signal);
  };
  const id = await drafts.use(draftAndCreate, signal);
  const kept = stack.move();
  return { id, sandboxId: place.sandboxId, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

/** Starts a container from `prepareContainer`, in the slot that its sandbox may have passed on. Fails like `startContainer`. */
export async function startPrepared(
  pod: Pod,
  next: ContainerStart,
  { container: prepared, slot, gate }: PreparedStart & { readonly gate: StartGate },
  place: StartPlace,
  services: StartServices,
  signal: AbortSignal,
): Promise<StartedContainer> {
  await using stack = new AsyncDisposableStack();
  stack.use(prepared);
  {
    using _slot = slot?.isHeld === true ? slot : await services.startSlots.take(signal, 'finish');
    gate.mustBeOpen();
    await services.runtime.containers.startContainer(prepared.id, signal);
  }
  return { ...(await afterStart(pod, next, prepared.id, place, services, signal)), paths: stack.move() };
}

/** A sandbox that was created by an earlier version and would now be refused must not get new containers. */
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

/** The definition of the container. The bound paths of its mounts exist until it is disposed of. */
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
      instances: services.atMostOne.of(pod.metadata.uid ?? ''),
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

/** Mounts the container's image volumes, then returns its image. */
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
    // A static pod does not wait for the API server, since it may be the API server.
    isStaticPod(pod) ? 'now' : 'listed',
    signal,
  );
  const base = { ...services.baseEnvironment, ...serviceVariables(pod, linked) };
  const volumeText = (volume: string, file: string) => services.volumes.text(pod, volume, file);
  const { facts, config: source } = services;
  return await containerEnvironment(container, { pod, podAddress, facts, source, volumeText, base }, signal);
}

/** Resolves the names that a pod refers to: a low-level runtime, a seccomp profile of this node, and a user of the image. */
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

/** Runs the container's postStart hook, if any. A failure does not reject: the container runs and has to be stopped. */
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

/**
 * Prepares the container's mounts. A failure to remove their bound paths is only logged: the container runs, and the pod's release
 * repeats the removal.
 */
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
