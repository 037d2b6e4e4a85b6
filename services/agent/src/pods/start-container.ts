import { errorMessage } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { StartContainer } from '../plan/pod-plan.ts';
import { AgentError } from '../runtime/agent-error.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { containerSpec } from '../spec/container-spec.ts';
import { containerEnvironment } from '../spec/environment.ts';
import { containerPath } from '../spec/pod-names.ts';
import { sandboxRefusal } from '../spec/pod-rejection.ts';
import type { ContainerMounts } from '../volumes/pod-volumes.ts';
import { ensureImage } from './ensure-image.ts';
import { runtimeHandler } from './runtime-handler.ts';
import type { WorkerServices } from './worker-services.ts';

/**
 * Brings one container up in five steps: image, variables, mounts, create, start. Fails with an AgentError that names the
 * step. Only the last two take a slot, so that a pull of minutes does not delay other containers.
 */
export async function startContainer(
  pod: Pod,
  action: StartContainer,
  sandbox: SandboxState | undefined,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, events, facts, clock } = services;
  const { container, attempt } = action;
  // A sandbox of before this rule must not get new containers.
  const refusal = sandboxRefusal(pod);
  if (refusal !== undefined) throw new AgentError('CreateContainerError', refusal);
  const podAddress = pod.spec?.hostNetwork === true ? facts.hostAddress : (sandbox?.address ?? '');
  const path = containerPath(pod, container.name);
  const record = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.event(pod, type, reason, message, path);
  const image = await ensureImage(container, { images: runtime.images, record, clock }, signal);
  const context = { pod, podAddress, facts, source: services.config, base: services.baseEnvironment };
  const environment = await containerEnvironment(container, context, signal);
  const handler = await runtimeHandler(pod, services, signal);
  await using prepared = await prepareMounts(pod, action, environment, services);
  const { mounts, terminationMessagePath } = prepared;
  const spec = containerSpec({
    owner: services.owner,
    pod,
    container,
    attempt,
    sandboxId: action.sandboxId,
    restartDelayMs: action.restartDelayMs,
    environment,
    mounts,
    image,
    engine: services.engine,
    privilege: services.privilege,
    ...(handler === undefined ? {} : { runtime: handler }),
    capacityBytes: facts.memoryBytes,
    terminationMessagePath,
  });
  await services.starts.use(async () => {
    const id = await runtime.containers.createContainer(spec, signal);
    record('Normal', 'Created', 'Container created');
    await runtime.containers.startContainer(id, signal);
  }, signal);
  record('Normal', 'Started', 'Container started');
}

/** The container's mounts. A failure to take their paths away again is logged: the container runs, and the pod's release repeats it. */
async function prepareMounts(
  pod: Pod,
  { container, attempt }: StartContainer,
  environment: ReadonlyMap<string, string>,
  { volumes, logger }: WorkerServices,
): Promise<ContainerMounts> {
  const prepared = await volumes.mounts(pod, container, attempt, environment);
  const dispose = async () => {
    try {
      await prepared[Symbol.asyncDispose]();
    } catch (error) {
      logger.warn({ pod: pod.metadata.uid, reason: errorMessage(error) }, "a container's bound paths were not removed");
    }
  };
  return { ...prepared, [Symbol.asyncDispose]: dispose };
}
