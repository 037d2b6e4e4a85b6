import type { Pod } from '@gantry/api';
import type { SandboxState } from '../runtime/runtime.ts';
import { containerSpec } from './container-spec.ts';
import { containerEnvironment } from './environment.ts';
import { ensureImage } from './images.ts';
import type { PodAction } from './plan.ts';
import { containerPath } from './pod-containers.ts';
import type { WorkerServices } from './worker-services.ts';

export type StartAction = Extract<PodAction, { kind: 'startContainer' }>;

/**
 * Makes and starts one container: image, variables, mounts, create, start. Fails with an AgentError that names the step. Only
 * the last two take a slot: an image that is pulled for minutes holds up nobody else.
 */
export async function startContainer(
  pod: Pod,
  action: StartAction,
  sandbox: SandboxState | undefined,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, events, facts, clock } = services;
  const { container, attempt } = action;
  const podAddress = pod.spec?.hostNetwork === true ? facts.hostAddress : (sandbox?.address ?? '');
  const path = containerPath(pod, container.name);
  const report = (type: 'Normal' | 'Warning', reason: string, message: string) =>
    events.event(pod, type, reason, message, path);
  const image = await ensureImage(pod, container, runtime.images, report, clock, signal);
  const context = { pod, podAddress, facts, source: services.config, base: services.baseEnvironment };
  const environment = await containerEnvironment(container, context, signal);
  const { mounts, terminationMessagePath } = await services.volumes.mounts(pod, container, attempt, environment);
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
    engine: services.privilege,
    capacityBytes: facts.memoryBytes,
    terminationMessagePath,
  });
  await services.starts.use(async () => {
    const id = await runtime.containers.createContainer(spec, signal);
    report('Normal', 'Created', 'Container created');
    await runtime.containers.startContainer(id, signal);
  }, signal);
  report('Normal', 'Started', 'Container started');
}
