import { anySignal, errorMessage, type Instant, pause, withDeadline } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { SignalContainer, StopContainer } from '../plan/pod-plan.ts';
import { runHook } from '../probes/run-hook.ts';
import type { PodState } from '../runtime/observer.ts';
import { allContainersOf, containerNamed } from '../spec/pod-containers.ts';
import { formatPod } from '../spec/pod-names.ts';
import { shouldRestart } from '../spec/restart-policy.ts';
import type { EndContext } from './action-context.ts';
import type { ContainerStop, WorkerMemory } from './worker-memory.ts';
import { networkOf } from './pod-observation.ts';

/** The delay before a failed stop is tried again. */
const STOP_RETRY_MS = 1_000;
/** The shortest time that a container gets to end, however long its hook took (Kubernetes: minimumGracePeriodInSeconds). */
const MIN_GRACE_SECONDS = 2;

/**
 * Begins to stop a container without waiting for its end, which the engine reports as an event. A repeated stop with a shorter grace
 * period replaces the earlier one and aborts its hook.
 */
export function stopContainer(action: StopContainer, context: EndContext): void {
  const { pod, memory, events, services } = context;
  const { id, graceSeconds, preStop, signalled, afterwards } = action;
  if (afterwards === 'started-again') noteResized(action, context);
  memory.stopping.get(id)?.abort.abort();
  const waits = signalled === 'in-its-turn' ? 'turn' : 'signal';
  const { clock } = services;
  const before = memory.ends.get(id);
  const killAtMs = Math.min(clock.monotonicMs() + graceSeconds * 1000, before?.killAtMs ?? Infinity);
  const hook = before?.hook === 'done' ? undefined : preStop;
  memory.ends.set(id, { killAtMs, hook: hook === undefined ? 'done' : 'due' });
  const stop: ContainerStop = {
    // The system clock may be set meanwhile.
    get killAt() {
      return clock.now() + killAtMs - clock.monotonicMs();
    },
    phase: hook === undefined ? waits : 'hook',
    abort: new AbortController(),
  };
  memory.stopping.set(id, stop);
  if (pod !== undefined) events.stopping(pod, action);
  run(id, stop, context, async (signal) => {
    if (pod !== undefined && hook !== undefined)
      await runPreStop(pod, action, hook, killAtMs - clock.monotonicMs(), context, signal);
    memory.ends.set(id, { killAtMs, hook: 'done' });
    if (waits === 'turn') stop.phase = 'turn';
    else await sendSignal(id, stop, context);
  });
}

/**
 * Marks the container to be started again. If exit code 0 would be final for it, it is also reported as killed; this tells the next agent
 * that it has to start again.
 */
function noteResized({ id, name }: StopContainer, { pod, memory }: EndContext): void {
  memory.resized.add(id);
  const item = pod === undefined ? undefined : allContainersOf(pod).find(({ container }) => container.name === name);
  if (pod !== undefined && item !== undefined && !shouldRestart(pod, item, 0)) memory.killed.add(id);
}

/** Sends the stop signal to a container that has waited for its turn. */
export function signalContainer({ id }: SignalContainer, context: EndContext): void {
  const stop = context.memory.stopping.get(id);
  if (stop !== undefined) run(id, stop, context, () => sendSignal(id, stop, context));
}

/** Forgets stops of containers that have ended by themselves, and aborts their hooks. */
export function forgetEnded(
  { stopping, ends, failedPostStart, resized, killed }: WorkerMemory,
  state: PodState | undefined,
): void {
  const isRunning = (id: string) => state?.containers.find((one) => one.id === id)?.state === 'running';
  const isKnown = (id: string) => state?.containers.some((one) => one.id === id) === true;
  for (const ids of [resized, killed]) for (const id of ids) if (!isKnown(id)) ids.delete(id);
  for (const id of failedPostStart) if (!isRunning(id)) failedPostStart.delete(id);
  for (const id of ends.keys()) if (!isRunning(id)) ends.delete(id);
  for (const [id, { abort, phase }] of stopping) {
    if (phase === 'signal' || isRunning(id)) continue;
    abort.abort();
    stopping.delete(id);
  }
}

function run(id: string, stop: ContainerStop, context: EndContext, work: (signal: AbortSignal) => Promise<void>): void {
  const { uid, memory, services, signal, notify } = context;
  const { clock, logger } = services;
  const finish = async () => {
    using either = anySignal(signal, stop.abort.signal);
    try {
      await work(either);
    } catch (error) {
      if (either.aborted) return;
      logger.warn({ pod: uid, container: id, reason: errorMessage(error) }, 'stopping a container failed');
      await pause(clock, STOP_RETRY_MS, either);
      stop.phase = 'signal';
    }
  };
  void finish().finally(() => {
    const isOver = stop.phase === 'signal' || stop.abort.signal.aborted;
    if (isOver && memory.stopping.get(id) === stop) memory.stopping.delete(id);
    notify();
  });
}

async function sendSignal(id: string, stop: ContainerStop, { services, signal }: EndContext): Promise<void> {
  stop.phase = 'signal';
  await services.runtime.containers.stopContainer(id, secondsLeft(stop.killAt, services.clock.now()), signal);
}

function secondsLeft(killAt: Instant, now: Instant): number {
  return Math.max(MIN_GRACE_SECONDS, (killAt - now) / 1000);
}

/** Runs the hook until SIGKILL would be due. A failure is reported as an Event; the container is stopped in any case. */
async function runPreStop(
  pod: Pod,
  { id, name }: StopContainer,
  preStop: NonNullable<StopContainer['preStop']>,
  leftMs: number,
  { state, events, services, uid }: EndContext,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, facts, clock, logger } = services;
  const container = containerNamed(pod, name);
  if (container === undefined) return;
  using deadline = withDeadline(clock, signal, leftMs);
  const target = {
    container,
    containerId: id,
    containers: runtime.containers,
    pod: formatPod(pod),
    ...networkOf(pod, state, facts),
  };
  try {
    await runHook(preStop, target, clock, deadline);
  } catch (error) {
    signal.throwIfAborted();
    if (deadline.aborted) return;
    logger.warn({ pod: uid, container: id, reason: errorMessage(error) }, 'a preStop hook failed');
    events.hookFailed(pod, name, 'PreStop');
  }
}
