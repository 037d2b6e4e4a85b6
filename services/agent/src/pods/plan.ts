import type { Instant } from '@gantry/base';
import type { Container, ContainerStatus, Pod } from '@gantry/api';
import type { ContainerState, PodState, SandboxState } from '../runtime/runtime.ts';
import {
  type ContainerRole,
  containerHash,
  formatPod,
  graceSecondsOf,
  initContainersOf,
  mainContainersOf,
  type PodContainer,
  shouldRestart,
} from './pod-containers.ts';
import type { PodMemory, Setback } from './pod-memory.ts';
import { formatDelay, nextRestartDelayMs, restartAt } from './restart-delay.ts';

/** How long a failed pull shows as ErrImagePull before it shows as ImagePullBackOff. */
const PULL_ERROR_SHOWN_MS = 2_000;
/** A pod whose object is gone has no grace period of its own any more but the one its containers carry. */
export type PodGoal = 'run' | 'end' | 'delete';

export type PodAction =
  | { readonly kind: 'mountVolumes' }
  | { readonly kind: 'createSandbox'; readonly attempt: number }
  | {
      readonly kind: 'startContainer';
      readonly container: Container;
      readonly role: ContainerRole;
      readonly attempt: number;
      readonly sandboxId: string;
      readonly restartDelayMs: number;
    }
  | {
      readonly kind: 'stopContainer';
      readonly id: string;
      readonly name: string;
      readonly graceSeconds: number;
      readonly message: string;
    }
  | { readonly kind: 'stopSandbox'; readonly id: string }
  | { readonly kind: 'removeContainer'; readonly id: string }
  | { readonly kind: 'removeSandbox'; readonly id: string }
  /** Nothing of the pod is left in the engine: its folders and its object may go. */
  | { readonly kind: 'release' };

export interface Waiting {
  readonly reason: string;
  readonly message?: string;
}

export interface PodPlan {
  readonly goal: PodGoal;
  readonly actions: readonly PodAction[];
  /** Look again then, even if nothing happens. */
  readonly wakeAt?: Instant;
  /** Container name → what it waits for. */
  readonly waiting: ReadonlyMap<string, Waiting>;
}

class Draft {
  readonly actions: PodAction[] = [];
  readonly waiting = new Map<string, Waiting>();
  wakeAt: Instant | undefined;

  wake(at: Instant): void {
    this.wakeAt = this.wakeAt === undefined ? at : Math.min(this.wakeAt, at);
  }

  plan(goal: PodGoal): PodPlan {
    const { actions, waiting, wakeAt } = this;
    return { goal, actions, waiting, ...(wakeAt === undefined ? {} : { wakeAt }) };
  }
}

/**
 * What to do next for a pod. `pod` is undefined when its object is gone: then everything goes. Steps that depend on each
 * other come in successive plans; planning again after applying one moves on, and on a settled pod yields no action.
 */
export function computePodActions(
  pod: Pod | undefined,
  state: PodState | undefined,
  memory: PodMemory,
  now: Instant,
): PodPlan {
  const draft = new Draft();
  const goal = goalOf(pod, now);
  if (pod === undefined || goal !== 'run') {
    stopAll(draft, state, memory, now, pod === undefined ? (state?.graceSeconds ?? 30) : graceSecondsOf(pod), goal);
    return draft.plan(goal);
  }
  const deadline = activeDeadline(pod);
  if (deadline !== undefined) draft.wake(deadline);
  const sandbox = state?.sandboxes.find((candidate) => candidate.state === 'running');
  if (sandbox === undefined) planWithoutSandbox(draft, pod, state, memory, now);
  else planInSandbox(draft, pod, state, sandbox, memory, now);
  return draft.plan(goal);
}

function goalOf(pod: Pod | undefined, now: Instant): PodGoal {
  if (pod === undefined || pod.metadata.deletionTimestamp !== undefined) return 'delete';
  const phase = pod.status?.phase;
  if (phase === 'Succeeded' || phase === 'Failed') return 'end';
  const deadline = activeDeadline(pod);
  return deadline !== undefined && now >= deadline ? 'end' : 'run';
}

/** When a pod with `activeDeadlineSeconds` has been active for too long. */
export function activeDeadline(pod: Pod): Instant | undefined {
  const seconds = pod.spec?.activeDeadlineSeconds;
  const start = pod.status?.startTime;
  return seconds === undefined || start === undefined ? undefined : Date.parse(start) + seconds * 1000;
}

function stopAll(
  draft: Draft,
  state: PodState | undefined,
  memory: PodMemory,
  now: Instant,
  graceSeconds: number,
  goal: PodGoal,
): void {
  const containers = state?.containers ?? [];
  const sandboxes = state?.sandboxes ?? [];
  const running = containers.filter((container) => container.state === 'running');
  for (const container of running) {
    const due = memory.stopping.get(container.id);
    // Stopping already, unless the grace period was shortened meanwhile.
    if (due !== undefined && due <= now + graceSeconds * 1000) continue;
    stop(draft, container, graceSeconds, `Stopping container ${container.name}`);
  }
  if (running.length > 0) return;
  if (goal === 'end') {
    for (const sandbox of sandboxes)
      if (sandbox.state === 'running') draft.actions.push({ kind: 'stopSandbox', id: sandbox.id });
    return;
  }
  for (const { id } of containers) draft.actions.push({ kind: 'removeContainer', id });
  for (const { id } of sandboxes) draft.actions.push({ kind: 'removeSandbox', id });
  if (containers.length + sandboxes.length === 0) draft.actions.push({ kind: 'release' });
}

function stop(draft: Draft, container: ContainerState, graceSeconds: number, message: string): void {
  draft.actions.push({ kind: 'stopContainer', id: container.id, name: container.name, graceSeconds, message });
}

function planWithoutSandbox(
  draft: Draft,
  pod: Pod,
  state: PodState | undefined,
  memory: PodMemory,
  now: Instant,
): void {
  const containers = state?.containers ?? [];
  const running = containers.filter((container) => container.state === 'running');
  for (const container of running) {
    // Without its sandbox it has no network any more.
    if (memory.stopping.has(container.id)) continue;
    stop(draft, container, graceSecondsOf(pod), 'Pod sandbox changed, it will be killed and re-created.');
  }
  if (running.length > 0 || isOver(pod, containers)) return;
  const setback = memory.volumes;
  if (typeof setback === 'object' && now < setback.retryAt) {
    draft.wake(setback.retryAt);
    return;
  }
  if (setback !== 'ready') {
    draft.actions.push({ kind: 'mountVolumes' });
    return;
  }
  for (const { id } of state?.sandboxes ?? []) draft.actions.push({ kind: 'removeSandbox', id });
  if (memory.sandbox !== undefined && now < memory.sandbox.retryAt) {
    draft.wake(memory.sandbox.retryAt);
    return;
  }
  const attempt = Math.max(-1, ...(state?.sandboxes ?? []).map((sandbox) => sandbox.attempt)) + 1;
  draft.actions.push({ kind: 'createSandbox', attempt });
}

/** Nothing of the pod would ever be started again. */
function isOver(pod: Pod, containers: readonly ContainerState[]): boolean {
  const main = mainContainersOf(pod);
  const over = main.every(({ container, role }) => {
    const ended = endOf(pod, container.name, latest(containers, container.name));
    return ended !== undefined && !shouldRestart(pod, role, ended);
  });
  return over || failedInit(pod, containers) !== undefined;
}

/** The init container whose failure ends the pod, if any. */
function failedInit(pod: Pod, containers: readonly ContainerState[]): PodContainer | undefined {
  return initContainersOf(pod).find(({ container, role }) => {
    const state = latest(containers, container.name);
    const exitCode = state?.state === 'exited' ? (state.exitCode ?? 0) : 0;
    return role === 'init' && exitCode !== 0 && !shouldRestart(pod, role, exitCode);
  });
}

function latest(containers: readonly ContainerState[], name: string): ContainerState | undefined {
  return containers.find((container) => container.name === name);
}

/** The exit code of a container that has ended, from the engine or, where that lost it, from the pod's status. */
function endOf(pod: Pod, name: string, state: ContainerState | undefined): number | undefined {
  if (state !== undefined) return state.state === 'exited' ? (state.exitCode ?? 0) : undefined;
  return reported(pod, name)?.state?.terminated?.exitCode;
}

function reported(pod: Pod, name: string): ContainerStatus | undefined {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  return [...containerStatuses, ...initContainerStatuses].find((status) => status.name === name);
}

function planInSandbox(
  draft: Draft,
  pod: Pod,
  state: PodState | undefined,
  sandbox: SandboxState,
  memory: PodMemory,
  now: Instant,
): void {
  const containers = state?.containers ?? [];
  for (const other of state?.sandboxes ?? []) {
    if (other.id !== sandbox.id) draft.actions.push({ kind: 'removeSandbox', id: other.id });
  }
  stopUnwanted(draft, pod, containers, sandbox, memory);
  prune(draft, containers);
  if (memory.volumes !== 'ready') {
    planVolumes(draft, memory, now);
    return;
  }
  const context: StartContext = { draft, pod, containers, sandbox, memory, now };
  const started = mainContainersOf(pod).some(({ container }) =>
    containers.some((state) => state.name === container.name && state.sandboxId === sandbox.id),
  );
  if (!started && !planInit(context)) return;
  if (isOver(pod, containers)) {
    for (const { container, role } of initContainersOf(pod)) {
      const state = latest(containers, container.name);
      if (role === 'sidecar' && state?.state === 'running' && !memory.stopping.has(state.id)) {
        stop(draft, state, graceSecondsOf(pod), `Stopping container ${container.name}`);
      }
    }
    return;
  }
  if (started) for (const item of initContainersOf(pod)) if (item.role === 'sidecar') planStart(context, item);
  for (const item of mainContainersOf(pod)) planStart(context, item);
}

/** After an agent's restart the volumes of running containers are made current again before anything new starts. */
function planVolumes(draft: Draft, memory: PodMemory, now: Instant): void {
  if (typeof memory.volumes === 'object' && now < memory.volumes.retryAt) draft.wake(memory.volumes.retryAt);
  else draft.actions.push({ kind: 'mountVolumes' });
}

function stopUnwanted(
  draft: Draft,
  pod: Pod,
  containers: readonly ContainerState[],
  sandbox: SandboxState,
  memory: PodMemory,
): void {
  const specs = new Map(
    [...initContainersOf(pod), ...mainContainersOf(pod)].map((item) => [item.container.name, item.container]),
  );
  for (const container of containers) {
    if (container.state !== 'running' || memory.stopping.has(container.id)) continue;
    const message = whyUnwanted(container, specs.get(container.name), sandbox, memory);
    if (message !== undefined) stop(draft, container, graceSecondsOf(pod), message);
  }
}

function whyUnwanted(
  state: ContainerState,
  spec: Container | undefined,
  sandbox: SandboxState,
  memory: PodMemory,
): string | undefined {
  if (state.sandboxId !== sandbox.id) return 'Pod sandbox changed, it will be killed and re-created.';
  if (spec !== undefined && containerHash(spec) !== state.hash) {
    return `Container ${state.name} definition changed, will be restarted`;
  }
  const findings = memory.probes.get(state.name);
  if (findings?.failed !== undefined && findings.containerId === state.id) {
    return `Container ${state.name} failed ${findings.failed} probe, will be restarted`;
  }
  return undefined;
}

/** Of each container the newest attempt and one before it stay: `logs --previous` needs that. */
function prune(draft: Draft, containers: readonly ContainerState[]): void {
  const kept = new Map<string, number>();
  for (const container of containers) {
    const count = kept.get(container.name) ?? 0;
    if (count >= 2 && container.state !== 'running') draft.actions.push({ kind: 'removeContainer', id: container.id });
    kept.set(container.name, count + 1);
  }
}

interface StartContext {
  readonly draft: Draft;
  readonly pod: Pod;
  readonly containers: readonly ContainerState[];
  readonly sandbox: SandboxState;
  readonly memory: PodMemory;
  readonly now: Instant;
}

/** Starts the next init container that is due. True when all are done and the main ones may start. */
function planInit(context: StartContext): boolean {
  const { pod, containers, sandbox, memory } = context;
  for (const item of initContainersOf(pod)) {
    const state = latest(containers, item.container.name);
    const here = state?.sandboxId === sandbox.id ? state : undefined;
    if (here?.state === 'running' && item.role === 'sidecar') {
      const findings = memory.probes.get(item.container.name);
      if (item.container.startupProbe === undefined || findings?.started === true) continue;
      return false;
    }
    if (here?.state === 'running') return false;
    if (here?.state === 'exited' && item.role === 'init') {
      if (here.exitCode === 0) continue;
      if (!shouldRestart(pod, item.role, here.exitCode ?? 1)) return false;
    }
    planStart(context, item, here === undefined ? 'again' : 'by-policy');
    return false;
  }
  return true;
}

/** Starts one container unless it runs, has ended for good, or must wait. `again`: an earlier end does not count. */
function planStart(context: StartContext, item: PodContainer, mode: 'by-policy' | 'again' = 'by-policy'): void {
  const { draft, pod, containers, sandbox, memory, now } = context;
  const { container, role } = item;
  const state = latest(containers, container.name);
  if (state?.state === 'running') return;
  if (state?.state === 'created') {
    // Left by an agent that was stopped between creating and starting it.
    draft.actions.push({ kind: 'removeContainer', id: state.id });
    return;
  }
  const exitCode = endOf(pod, container.name, state);
  const changed = state !== undefined && state.hash !== containerHash(container);
  if (mode === 'by-policy' && !changed && exitCode !== undefined && !shouldRestart(pod, role, exitCode)) return;
  const at = state === undefined || changed ? now : restartAt(state);
  if (state !== undefined && now < at) {
    draft.wake(at);
    draft.waiting.set(container.name, {
      reason: 'CrashLoopBackOff',
      message: `back-off ${formatDelay(state.restartDelayMs)} restarting failed container=${container.name} pod=${formatPod(pod)}`,
    });
    return;
  }
  const setback = memory.setbacks.get(container.name);
  if (setback !== undefined) {
    draft.waiting.set(container.name, waitingFor(draft, container, setback, now));
    if (now < setback.retryAt) {
      draft.wake(setback.retryAt);
      return;
    }
  }
  draft.actions.push({
    kind: 'startContainer',
    container,
    role,
    attempt: nextAttempt(pod, container.name, state),
    sandboxId: sandbox.id,
    restartDelayMs: nextRestartDelayMs(state),
  });
}

function waitingFor(draft: Draft, container: Container, setback: Setback, now: Instant): Waiting {
  const shownUntil = setback.failedAt + PULL_ERROR_SHOWN_MS;
  if (setback.reason === 'ErrImagePull' && now < shownUntil) draft.wake(shownUntil);
  if (setback.reason !== 'ErrImagePull' || now < shownUntil)
    return { reason: setback.reason, message: setback.message };
  return {
    reason: 'ImagePullBackOff',
    message: `Back-off pulling image "${container.image ?? ''}": ErrImagePull: ${setback.message}`,
  };
}

/** Counts on from what the engine has, or from what was reported where somebody removed it. */
function nextAttempt(pod: Pod, name: string, state: ContainerState | undefined): number {
  const status = reported(pod, name);
  const known = status?.containerID !== undefined || status?.lastState?.terminated !== undefined;
  return Math.max(state?.attempt ?? -1, known ? (status?.restartCount ?? 0) : -1) + 1;
}
