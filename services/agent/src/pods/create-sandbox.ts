import { append, errorMessage } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ContainerStart, CreateSandbox } from '../plan/pod-plan.ts';
import type { ActionContext } from './action-context.ts';
import { mountVolumes } from './mount-volumes.ts';
import { gateOf } from './pod-gate.ts';
import { runContainer, startFailed } from './run-container.ts';
import { prepareContainer, type StartPlace } from './start-container.ts';
import { type CreatedSandbox, startSandbox } from './start-sandbox.ts';

/** Why a container was not created beside its sandbox. */
interface PrepareFailure {
  readonly name: string;
  readonly sandboxId: string;
  readonly error: unknown;
}

/**
 * Starts a pod's sandbox, which is half of the engine's work for a pod, and does beside it what needs no network: mounts the volumes and
 * creates the first containers. Those are started as soon as the sandbox runs. Only the sandbox has its slot: a volume that hangs holds
 * up no other pod.
 */
export async function createSandbox(pod: Pod, action: CreateSandbox, context: ActionContext): Promise<void> {
  const { services, step, memory } = context;
  const others: Promise<readonly PromiseSettledResult<void>[]>[] = [];
  const failures: PrepareFailure[] = [];
  const beside = (work: Promise<void>) => others.push(Promise.allSettled([work]));
  const prepareAfter = async (mounted: Promise<void>, sandbox: CreatedSandbox) => {
    await mounted;
    if (memory.volumes !== 'ready') return;
    const prepared = await Promise.all(action.first.map((next) => prepare(pod, next, sandbox, context)));
    append(
      failures,
      prepared.filter((failure) => failure !== undefined),
    );
  };
  let first: CreatedSandbox | undefined;
  const start = async () => {
    const mounted = action.volumes === 'to-mount' ? mountVolumes(pod, context) : Promise.resolve();
    beside(mounted);
    return await tryToStart(pod, action.attempt, context, (sandbox) => {
      // One on another address follows at once. The same containers made twice would take each other's names and mounts.
      if (first !== undefined) return;
      first = sandbox;
      beside(prepareAfter(mounted, sandbox));
    });
  };
  const started = await Promise.allSettled([services.starts.use(start, step)]);
  // Nothing goes on when the action has ended: the next plan must not repeat what is still under way.
  const results = [...started, ...(await Promise.all(others)).flat()];
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  const [result] = started;
  const sandbox = result.status === 'fulfilled' ? result.value : undefined;
  if (sandbox === undefined) return;
  // What failed in a sandbox that is gone may have failed for that.
  for (const { name, sandboxId, error } of failures)
    if (sandboxId === sandbox.id) startFailed(pod, name, error, context);
  // The agent may have been frozen while it waited for the engine, and the pod have ended.
  await gateOf(context.uid, services).pass(step);
  await startFirst(pod, action, sandbox, context);
}

/** Starts what was created for the sandbox. The others are for the next plan. */
async function startFirst(
  pod: Pod,
  { first }: CreateSandbox,
  sandbox: CreatedSandbox,
  context: ActionContext,
): Promise<void> {
  const { memory } = context;
  const started = first.map(async (next) => {
    const { name } = next.container;
    const prepared = memory.prepared.get(name);
    if (prepared?.sandboxId !== sandbox.id) return;
    memory.prepared.delete(name);
    await runContainer(pod, next, placeIn(sandbox), prepared, context);
  });
  for (const result of await Promise.allSettled(started)) if (result.status === 'rejected') throw result.reason;
}

async function tryToStart(
  pod: Pod,
  attempt: number,
  { memory, events, services, step, sandboxRuns }: ActionContext,
  created: (sandbox: CreatedSandbox) => void,
): Promise<CreatedSandbox | undefined> {
  const { clock, random } = services;
  try {
    const sandbox = await startSandbox(pod, attempt, services, step, created);
    delete memory.sandbox;
    sandboxRuns({ ...sandbox, attempt, state: 'running', createdAt: clock.now() });
    return sandbox;
  } catch (error) {
    step.throwIfAborted();
    memory.sandbox = backOffAfter(error, memory.sandbox, clock.now(), random);
    events.sandboxFailed(pod, errorMessage(error));
    return undefined;
  }
}

async function prepare(
  pod: Pod,
  next: ContainerStart,
  sandbox: CreatedSandbox,
  { memory, services, step }: ActionContext,
): Promise<PrepareFailure | undefined> {
  const { name } = next.container;
  try {
    const prepared = await prepareContainer(pod, next, placeIn(sandbox), services, step);
    if (prepared !== undefined) memory.prepared.set(name, prepared);
    return undefined;
  } catch (error) {
    step.throwIfAborted();
    return { name, sandboxId: sandbox.id, error };
  }
}

/** Of the first containers, none has a target: that is for ephemeral ones, which come later. */
function placeIn({ id, address }: CreatedSandbox): StartPlace {
  return { sandboxId: id, address, target: '', targetId: undefined };
}
