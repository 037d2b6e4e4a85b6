import { allEnded, errorMessage, settlesWithin } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import { backOffAfter } from '../plan/back-off.ts';
import type { ContainerStart, CreateSandbox } from '../plan/pod-plan.ts';
import type { ActionContext } from './action-context.ts';
import { mountVolumes } from './mount-volumes.ts';
import { runContainer, startFailed } from './run-container.ts';
import type { Slot } from './slots.ts';
import { prepareContainer, type StartPlace } from './start-container.ts';
import { type CreatedSandbox, startSandbox } from './start-sandbox.ts';

/** The failed preparation of a container while its sandbox started. */
interface PrepareFailure {
  readonly name: string;
  readonly sandboxId: string;
  readonly error: unknown;
}

/** How long a running sandbox keeps its slot for its first container. Volumes that hang may delay the container. */
const MAX_HELD_MS = 1_000;

/**
 * Starts a pod's sandbox, which is half of the engine's work for a pod. In parallel it does what needs no network: mounts the volumes and
 * creates the first containers. These start as soon as the sandbox runs. The first of them takes over the sandbox's slot: if the slot
 * were released in between, another pod would start first, and all pods would become ready late.
 */
export async function createSandbox(pod: Pod, action: CreateSandbox, context: ActionContext): Promise<void> {
  const slot = await context.services.startSlots.take(context.step);
  const created = Promise.withResolvers<CreatedSandbox | undefined>();
  const mounted = action.volumes === 'to-mount' ? mountVolumes(pod, context) : Promise.resolve();
  const prepared = prepareFirst(pod, action, mounted, created.promise, context);
  const started = startInSlot(pod, action, slot, { created: created.resolve, prepared }, context);
  // Wait for all parts, so that the next plan does not repeat a part that still runs.
  await allEnded([started, mounted, prepared]);
}

/** Connects the start of a sandbox and its parallel preparations. */
interface Beside {
  /** Only the first call counts: the same containers created for two sandboxes would conflict in names and mounts. */
  readonly created: (sandbox: CreatedSandbox | undefined) => void;
  readonly prepared: Promise<readonly PrepareFailure[]>;
}

/** Starts the sandbox and the containers prepared for it. The slot is released at the latest when these have ended. */
async function startInSlot(
  pod: Pod,
  action: CreateSandbox,
  slot: Slot,
  { created, prepared }: Beside,
  context: ActionContext,
): Promise<void> {
  using _ = slot;
  const { services } = context;
  const starting = tryToStart(pod, action.attempt, context, created);
  const sandbox = await starting.finally(() => created(undefined));
  if (sandbox === undefined) return;
  const state = { ...sandbox, attempt: action.attempt, state: 'running', createdAt: services.clock.now() } as const;
  const ready = getReady(pod, sandbox, prepared, context);
  const isSoon = await settlesWithin(services.clock, ready, MAX_HELD_MS);
  if (!isSoon) {
    slot[Symbol.dispose]();
    context.sandboxRuns(state);
  }
  await ready;
  const started = startFirst(pod, action, sandbox, slot, context);
  try {
    // Meanwhile, the engine starts the container.
    if (isSoon) context.sandboxRuns(state);
  } finally {
    await started;
  }
}

/** Creates the first containers as soon as the volumes and the sandbox exist. Returns the failed ones. */
async function prepareFirst(
  pod: Pod,
  { first }: CreateSandbox,
  mounted: Promise<void>,
  created: Promise<CreatedSandbox | undefined>,
  context: ActionContext,
): Promise<readonly PrepareFailure[]> {
  await mounted;
  const sandbox = await created;
  if (sandbox === undefined || context.memory.volumes !== 'ready') return [];
  const failures = await Promise.all(first.map((next) => prepare(pod, next, sandbox, context)));
  return failures.filter((failure) => failure !== undefined);
}

/** Waits for the parallel preparations, and reports their failures. */
async function getReady(
  pod: Pod,
  sandbox: CreatedSandbox,
  prepared: Beside['prepared'],
  context: ActionContext,
): Promise<void> {
  // Failures in a sandbox that is gone may be caused by that.
  for (const { name, sandboxId, error } of await prepared)
    if (sandboxId === sandbox.id) startFailed(pod, name, error, context);
  // The agent may have been frozen while it waited for the engine, and the pod may have ended.
  await context.gate.pass(context.step);
}

/**
 * Starts the containers that were prepared for the sandbox, one of them in the sandbox's slot. Other containers are left to the next
 * plan.
 */
async function startFirst(
  pod: Pod,
  { first }: CreateSandbox,
  sandbox: CreatedSandbox,
  slot: Slot,
  context: ActionContext,
): Promise<void> {
  const { memory } = context;
  const prepared = first.flatMap((next) => {
    const { name } = next.container;
    const container = memory.prepared.get(name);
    if (container?.sandboxId !== sandbox.id) return [];
    memory.prepared.delete(name);
    return { next, container };
  });
  const started = prepared.map(({ next, container }, index) =>
    runContainer(pod, next, placeIn(sandbox), index === 0 ? { container, slot } : { container }, context),
  );
  await allEnded(started);
}

async function tryToStart(
  pod: Pod,
  attempt: number,
  { memory, events, services, step }: ActionContext,
  created: Beside['created'],
): Promise<CreatedSandbox | undefined> {
  const { clock, random } = services;
  try {
    const sandbox = await startSandbox(pod, attempt, services, step, created);
    delete memory.sandbox;
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
    const prepared = await prepareContainer(pod, next, placeIn(sandbox), memory.drafts, services, step);
    if (prepared !== undefined) memory.prepared.set(name, prepared);
    return undefined;
  } catch (error) {
    step.throwIfAborted();
    return { name, sandboxId: sandbox.id, error };
  }
}

/** The first containers have no target: only ephemeral containers have one, and they come later. */
function placeIn({ id, group, address }: CreatedSandbox): StartPlace {
  return { sandboxId: id, group, address, target: '', targetId: undefined };
}
