import { errorMessage } from '@gantry/base';
import { type Pod, PODS } from '@gantry/objects';
import { ignoreNotFound, ignoreReasons } from '@gantry/client';
import { backOffAfter } from '../plan/back-off.ts';
import type { PodAction, StartContainer, Unpause, UpdateContainer, UpdatePodGroup } from '../plan/pod-plan.ts';
import { targetOf } from '../spec/pod-containers.ts';
import { grantedPod } from '../spec/resize.ts';
import type { ActionContext, EndContext } from './action-context.ts';
import { createSandbox } from './create-sandbox.ts';
import { checkMemoryDecreases } from './memory-decrease.ts';
import { mountVolumes } from './mount-volumes.ts';
import { runContainer } from './run-container.ts';
import { signalContainer, stopContainer } from './stop-container.ts';

/** How long the engine may take to show an update. */
const UPDATE_SHOWN_MS = 5_000;

/** The actions for a pod whose goal is `run`. */
const RUN_KINDS = ['mountVolumes', 'createSandbox', 'startContainer', 'updateContainer', 'updatePodGroup'] as const;
type RunAction = Extract<PodAction, { kind: (typeof RUN_KINDS)[number] }>;
type EndAction = Exclude<PodAction, RunAction>;

/** Whether an action ends something. Deleted pods need no other actions. */
export function endsSomething(action: PodAction): action is EndAction {
  return !RUN_KINDS.some((kind) => kind === action.kind);
}

/** Executes one action of a plan. A failure with a back-off entry is recorded there; any other failure rejects. */
export async function performAction(action: PodAction, context: ActionContext): Promise<void> {
  if (endsSomething(action)) await performEnd(action, context);
  else if (action.kind === 'updateContainer') await updateContainer(action, context);
  else if (action.kind === 'updatePodGroup') await updatePodGroup(action, context);
  else if (context.pod !== undefined) await performStart(context.pod, action, context);
}

async function performStart(
  current: Pod,
  action: Exclude<RunAction, UpdateContainer | UpdatePodGroup>,
  context: ActionContext,
): Promise<void> {
  // A resize that is not granted must not affect containers that start meanwhile.
  const pod = grantedPod(current, context.memory.resize);
  if (action.kind === 'mountVolumes') await mountVolumes(pod, context);
  else if (action.kind === 'createSandbox') await createSandbox(pod, action, context);
  else await start(pod, action, context);
}

/** Executes one action that ends something. Every failure rejects. */
export async function performEnd(action: EndAction, context: EndContext): Promise<void> {
  const { services, step } = context;
  const { runtime, removals } = services;
  switch (action.kind) {
    case 'stopContainer':
      stopContainer(action, context);
      break;
    case 'signalContainer':
      signalContainer(action, context);
      break;
    case 'unpause':
      await unpause(action, context);
      break;
    case 'stopSandbox':
      restAddress(action.id, context);
      await runtime.sandboxes.stopSandbox(action.id, step);
      break;
    case 'removeSandbox':
      restAddress(action.id, context);
      await removals.use(() => runtime.sandboxes.removeSandbox(action.id, step), step);
      break;
    case 'removeContainer':
      await removals.use(() => runtime.containers.removeContainer(action.id, step), step);
      await forgetPrepared(action.id, context);
      break;
    case 'release':
      await release(context);
  }
}

async function start(pod: Pod, action: StartContainer, context: ActionContext): Promise<void> {
  const { state, memory } = context;
  const { name } = action.container;
  const sandbox = state?.sandboxes.find((candidate) => candidate.id === action.sandboxId);
  const target = targetOf(pod, name);
  const targetId = state?.containers.find((one) => one.name === target && one.state === 'running')?.id;
  const { group = 'engine', address = '' } = sandbox ?? {};
  const place = { sandboxId: action.sandboxId, group, address, target, targetId };
  const prepared = memory.prepared.get(name);
  memory.prepared.delete(name);
  const isWanted = prepared?.id === action.preparedId;
  if (!isWanted) await prepared?.[Symbol.asyncDispose]();
  const container = isWanted ? prepared : undefined;
  await runContainer(pod, action, place, container === undefined ? undefined : { container }, context);
}

async function unpause({ id, name }: Unpause, { pod, events, services, step }: EndContext): Promise<void> {
  await services.runtime.pauses.unpause(id, step);
  if (pod !== undefined) events.unpaused(pod, name);
}

/** Disposes of a prepared container that was removed before it started. */
async function forgetPrepared(id: string, { memory }: EndContext): Promise<void> {
  for (const [name, prepared] of memory.prepared) {
    if (prepared.id !== id) continue;
    memory.prepared.delete(name);
    await prepared[Symbol.asyncDispose]();
  }
}

/** Changes the resources of a container. A refused change is tried again later. */
async function updateContainer({ id, name, resources }: UpdateContainer, context: ActionContext): Promise<void> {
  const { uid, memory, services, step } = context;
  const { runtime, clock, random, logger } = services;
  const attempt = { containerId: id, resources };
  try {
    await checkMemoryDecreases(context);
    await runtime.containers.updateContainer(id, resources, step);
    memory.updates.set(name, { ...attempt, retryAt: clock.now() + UPDATE_SHOWN_MS });
  } catch (error) {
    step.throwIfAborted();
    const failure = backOffAfter(error, memory.updates.get(name)?.failure, clock.now(), random);
    memory.updates.set(name, { ...attempt, retryAt: failure.retryAt, failure });
    logger.warn({ pod: uid, container: id, reason: errorMessage(error) }, 'cannot change the resources of a container');
  }
}

/** Changes the pod-level resources. A refused change is tried again later. */
async function updatePodGroup({ resources }: UpdatePodGroup, context: ActionContext): Promise<void> {
  const { uid, memory, services, step } = context;
  const { runtime, owner, clock, random, logger } = services;
  try {
    await checkMemoryDecreases(context);
    await runtime.podGroups.updatePodGroup({ owner, uid }, resources);
    memory.groupUpdate = { resources, retryAt: clock.now() + UPDATE_SHOWN_MS };
  } catch (error) {
    step.throwIfAborted();
    const failure = backOffAfter(error, memory.groupUpdate?.failure, clock.now(), random);
    memory.groupUpdate = { resources, retryAt: failure.retryAt, failure };
    logger.warn({ pod: uid, reason: errorMessage(error) }, 'cannot change the resources of a pod');
  }
}

/** Keeps the sandbox's address unused for a while after its end. */
function restAddress(sandboxId: string, { state, services }: EndContext): void {
  services.addresses.rest(state?.sandboxes.find(({ id }) => id === sandboxId)?.address ?? '');
}

/** Removes the pod's folders, its control group and, by its uid, its object. */
async function release({ uid, pod, memory, services, step, prove }: EndContext): Promise<void> {
  const { volumes, client, runtime, owner, logger } = services;
  await Promise.all(memory.disposals);
  await volumes.release(uid);
  try {
    // If the kernel has not removed the last process yet, a later sweep removes the group.
    await runtime.podGroups.removePodGroup({ owner, uid });
  } catch (error) {
    logger.warn({ pod: uid, reason: errorMessage(error) }, 'cannot remove the control group of a pod');
  }
  if (pod === undefined) return;
  const { name = '', namespace = '' } = pod.metadata;
  const key = { namespace, name };
  if (prove === undefined) {
    const removed = client.delete(PODS, key, { gracePeriodSeconds: 0, uid }, step);
    await ignoreReasons(removed, ['NotFound', 'Conflict']);
  } else {
    // A Conflict rejects: what has changed is read before the proof is written again.
    const { resourceVersion } = (await prove(pod)).metadata;
    await ignoreNotFound(client.delete(PODS, key, { gracePeriodSeconds: 0, uid, resourceVersion }, step));
  }
  memory.releasedFor = pod.metadata.deletionTimestamp;
}
