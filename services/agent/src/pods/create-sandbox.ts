import { errorMessage } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ContainerStart, CreateSandbox } from '../plan/pod-plan.ts';
import type { ActionContext } from './action-context.ts';
import { mountVolumes } from './mount-volumes.ts';
import { prepareContainer } from './start-container.ts';
import { startFailed } from './start-failed.ts';
import { type CreatedSandbox, startSandbox } from './start-sandbox.ts';

/**
 * Starts a pod's sandbox, which is most of the engine's work for a pod, and does beside it what needs no network: mounts the volumes and
 * creates the first containers. Only the sandbox has the slot: a volume that hangs holds up no other pod.
 */
export async function createSandbox(pod: Pod, action: CreateSandbox, context: ActionContext): Promise<void> {
  const { services, step, memory } = context;
  const others: Promise<readonly PromiseSettledResult<void>[]>[] = [];
  const beside = (work: Promise<void>) => others.push(Promise.allSettled([work]));
  const start = async () => {
    const mounted = action.volumes === 'to-mount' ? mountVolumes(pod, context) : Promise.resolve();
    beside(mounted);
    await tryToStart(pod, action.attempt, context, (sandbox) => beside(prepareAfter(mounted, sandbox)));
  };
  const prepareAfter = async (mounted: Promise<void>, sandbox: CreatedSandbox) => {
    await mounted;
    if (memory.volumes !== 'ready') return;
    await Promise.all(action.first.map((next) => prepare(pod, next, sandbox, context)));
  };
  try {
    await services.starts.use(start, step);
  } finally {
    // Nothing goes on when the action has ended: the next plan must not repeat what is still under way.
    for (const result of (await Promise.all(others)).flat()) if (result.status === 'rejected') throw result.reason;
  }
}

async function tryToStart(
  pod: Pod,
  attempt: number,
  { memory, events, services, step }: ActionContext,
  created: (sandbox: CreatedSandbox) => void,
): Promise<void> {
  const { clock, random } = services;
  try {
    await startSandbox(pod, attempt, services, step, created);
    delete memory.sandbox;
  } catch (error) {
    step.throwIfAborted();
    memory.sandbox = backOffAfter(error, memory.sandbox, clock.now(), random);
    events.sandboxFailed(pod, errorMessage(error));
  }
}

async function prepare(
  pod: Pod,
  next: ContainerStart,
  { id, address }: CreatedSandbox,
  context: ActionContext,
): Promise<void> {
  const { memory, services, step } = context;
  const { name } = next.container;
  try {
    // An ephemeral container is never among the first: it has no target.
    const prepared = await prepareContainer(
      pod,
      next,
      id,
      { address, target: '', targetId: undefined },
      services,
      step,
    );
    if (prepared !== undefined) memory.prepared.set(name, prepared);
  } catch (error) {
    startFailed(pod, name, error, context);
  }
}
