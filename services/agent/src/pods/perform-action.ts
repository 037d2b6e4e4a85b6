import { errorMessage, pause } from '@gantry/base';
import { type Pod, PODS } from '@gantry/objects';
import { ignoreReasons } from '@gantry/client';
import { backOffAfter } from '../plan/back-off.ts';
import type { PodAction, StartContainer, StopContainer } from '../plan/pod-plan.ts';
import type { PodState } from '../runtime/observer.ts';
import type { PodEvents } from './pod-events.ts';
import { startContainer } from './start-container.ts';
import { startSandbox } from './start-sandbox.ts';
import type { WorkerMemory } from './worker-memory.ts';
import type { WorkerServices } from './worker-services.ts';

/** How long a stop that failed is not tried again. */
const STOP_RETRY_MS = 10_000;

/** What an action works on. */
export interface ActionContext {
  readonly uid: string;
  /** The object and the engine's state that were planned from. */
  readonly pod: Pod | undefined;
  readonly state: PodState | undefined;
  readonly memory: WorkerMemory;
  readonly events: PodEvents;
  readonly services: WorkerServices;
  /** Aborted as well when the pod is deleted during a step toward running. */
  readonly step: AbortSignal;
  /** Aborted when the agent stops. */
  readonly signal: AbortSignal;
  /** Makes the worker plan again. */
  readonly notify: () => void;
}

/** Carries out one action of a plan. A failure that has a back-off entry is remembered there; every other one rejects. */
export async function performAction(action: PodAction, context: ActionContext): Promise<void> {
  const { pod, services, step } = context;
  const { runtime, starts } = services;
  switch (action.kind) {
    case 'mountVolumes':
      if (pod !== undefined) await mountVolumes(pod, context);
      return;
    case 'createSandbox':
      if (pod !== undefined) await starts.use(() => createSandbox(pod, action.attempt, context), step);
      return;
    case 'startContainer':
      if (pod !== undefined) await start(pod, action, context);
      return;
    case 'stopContainer':
      stop(action, context);
      return;
    case 'stopSandbox':
      restAddress(action.id, context);
      await runtime.sandboxes.stopSandbox(action.id, step);
      return;
    case 'removeSandbox':
      restAddress(action.id, context);
      await runtime.sandboxes.removeSandbox(action.id, step);
      return;
    case 'removeContainer':
      await runtime.containers.removeContainer(action.id, step);
      return;
    case 'release':
      await release(context);
      return;
  }
}

/** The pod's address, '' without a running sandbox. */
export function addressOf(state: PodState | undefined): string {
  return state?.sandboxes.find((sandbox) => sandbox.state === 'running')?.address ?? '';
}

async function mountVolumes(pod: Pod, { state, memory, events, services, step }: ActionContext): Promise<void> {
  const { volumes, clock, random } = services;
  try {
    await volumes.sync(pod, addressOf(state), step);
    memory.volumes = 'ready';
    memory.volumesSyncedMs = clock.monotonicMs();
  } catch (error) {
    step.throwIfAborted();
    const before = typeof memory.volumes === 'object' ? memory.volumes : undefined;
    memory.volumes = backOffAfter(error, before, clock.now(), random);
    events.mountFailed(pod, errorMessage(error));
  }
}

async function createSandbox(
  pod: Pod,
  attempt: number,
  { memory, events, services, step }: ActionContext,
): Promise<void> {
  const { clock, random } = services;
  try {
    await startSandbox(pod, attempt, services, step);
    delete memory.sandbox;
  } catch (error) {
    step.throwIfAborted();
    memory.sandbox = backOffAfter(error, memory.sandbox, clock.now(), random);
    events.sandboxFailed(pod, errorMessage(error));
  }
}

async function start(
  pod: Pod,
  action: StartContainer,
  { state, memory, events, services, step }: ActionContext,
): Promise<void> {
  const { clock, random } = services;
  const { name } = action.container;
  const sandbox = state?.sandboxes.find((candidate) => candidate.id === action.sandboxId);
  try {
    await startContainer(pod, action, sandbox, services, step);
    memory.backOffs.delete(name);
  } catch (error) {
    step.throwIfAborted();
    const entry = backOffAfter(error, memory.backOffs.get(name), clock.now(), random);
    memory.backOffs.set(name, entry);
    events.startFailed(pod, name, entry);
  }
}

/** Does not wait for the stop: its end is an event of the engine, and a shorter grace must be able to overtake it. */
function stop(action: StopContainer, { uid, pod, memory, events, services, signal, notify }: ActionContext): void {
  const { runtime, clock, logger } = services;
  const { id, graceSeconds } = action;
  memory.stopping.set(id, clock.now() + graceSeconds * 1000);
  if (pod !== undefined) events.stopping(pod, action);
  runtime.containers
    .stopContainer(id, graceSeconds, signal)
    .catch(async (error: unknown) => {
      if (signal.aborted) return;
      logger.warn({ pod: uid, container: id, reason: errorMessage(error) }, 'stopping a container failed');
      await pause(clock, STOP_RETRY_MS, signal);
    })
    .finally(() => {
      memory.stopping.delete(id);
      notify();
    });
}

/** Keeps the sandbox's address out of use for a while after its end. */
function restAddress(sandboxId: string, { state, services }: ActionContext): void {
  services.addresses.rest(state?.sandboxes.find(({ id }) => id === sandboxId)?.address ?? '');
}

/** Removes the pod's folders and, by its uid, its object. */
async function release({ uid, pod, memory, services, step }: ActionContext): Promise<void> {
  const { volumes, client } = services;
  await volumes.release(uid);
  if (pod === undefined) return;
  const { name = '', namespace = '' } = pod.metadata;
  const request = { gracePeriodSeconds: 0, uid };
  await ignoreReasons(client.delete(PODS, { namespace, name }, request, step), ['NotFound', 'Conflict']);
  memory.releasedFor = pod.metadata.deletionTimestamp;
}
