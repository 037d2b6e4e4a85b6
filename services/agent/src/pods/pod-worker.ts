import { backoffMs, errorMessage, type Instant, pause } from '@gantry/base';
import { isReason, type Pod } from '@gantry/api';
import type { ProbeKind } from '../probes/probe-counter.ts';
import { ProbeRunner } from '../probes/probe-runner.ts';
import type { PodState } from '../runtime/runtime.ts';
import { podStatus } from '../status/pod-status.ts';
import { interpretEnds } from './interpret-ends.ts';
import { containerPath, formatPod } from './pod-containers.ts';
import type { PodMemory, ProbeFindings, Setback } from './pod-memory.ts';
import { computePodActions, type PodAction, type PodPlan } from './plan.ts';
import { PODS } from './pod-source.ts';
import { setbackAfter } from './setback.ts';
import { startContainer, type StartAction } from './start-container.ts';
import { startSandbox } from './start-sandbox.ts';
import type { WorkerServices } from './worker-services.ts';

const FAILURE_BACKOFF = { initialMs: 500, maxMs: 10_000 };
/** Content of volumes follows the API at least this often. */
const VOLUME_REFRESH_MS = 60_000;

/** A memory that this worker changes. */
interface OwnMemory extends PodMemory {
  readonly stopping: Map<string, Instant>;
  readonly setbacks: Map<string, Setback>;
  volumes: PodMemory['volumes'];
  sandbox?: Setback;
  readonly probes: Map<string, ProbeFindings>;
}

/**
 * Brings one pod's containers to what its object says: looks, plans, acts, until the plan is empty; then sleeps until it is
 * woken. What it was woken for never matters. It ends when neither object nor containers are left.
 */
export class PodWorker {
  readonly #uid: string;
  readonly #services: WorkerServices;
  readonly #memory: OwnMemory = { stopping: new Map(), setbacks: new Map(), volumes: 'absent', probes: new Map() };
  readonly #messages = new Map<string, string>();
  /** By container, the attempt whose waiting was told last. */
  readonly #told = new Map<string, string>();
  #wakeUp: (() => void) | undefined;
  #look: 'needed' | 'done' = 'needed';
  #goal: PodPlan['goal'] = 'run';
  #step = new AbortController();
  #volumesSyncedMs = 0;
  #releasedVersion: string | undefined;
  readonly #probes: ProbeRunner;

  constructor(uid: string, services: WorkerServices) {
    this.#uid = uid;
    this.#services = services;
    this.#probes = new ProbeRunner({
      containers: services.runtime.containers,
      clock: services.clock,
      random: services.random,
      onFindings: (name, findings) => {
        this.#memory.probes.set(name, findings);
        this.wake();
      },
      onFailure: (container, kind, message) => this.#tellUnhealthy(container, kind, message),
    });
  }

  /** Something may have changed. A step toward running is given up when the pod is to go. */
  wake(): void {
    this.#look = 'needed';
    const pod = this.#services.pods.get(this.#uid);
    if (this.#goal === 'run' && (pod === undefined || pod.metadata.deletionTimestamp !== undefined)) this.#step.abort();
    this.#wakeUp?.();
  }

  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#work(signal);
    } finally {
      this.#probes.stop();
    }
  }

  async #work(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#services;
    let failures = 0;
    while (!signal.aborted) {
      this.#look = 'needed';
      this.#step = new AbortController();
      try {
        const outcome = await this.#once(AbortSignal.any([signal, this.#step.signal]), signal);
        failures = 0;
        if (outcome === 'ended') return;
        if (typeof outcome === 'object') await this.#rest(outcome.wakeAt, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (this.#step.signal.aborted) continue;
        failures += 1;
        logger.warn({ pod: this.#uid, reason: errorMessage(error) }, 'a step of a pod failed');
        await pause(clock, backoffMs(FAILURE_BACKOFF, failures, random), signal);
      }
    }
  }

  async #once(step: AbortSignal, signal: AbortSignal): Promise<'again' | 'ended' | { wakeAt: Instant | undefined }> {
    const { pods, runtime, owner, clock, gate } = this.#services;
    this.#look = 'done';
    const seen = (await runtime.observer.listPods({ ...owner, podUid: this.#uid }, step))[0];
    const pod = pods.get(this.#uid);
    const state = interpretEnds(pod, seen);
    await this.#readMessages(state);
    const plan = computePodActions(pod, state, this.#memory, clock.now());
    this.#goal = plan.goal;
    const runs = this.#services.mandate === 'run';
    if (runs) this.#probe(pod, state, signal);
    if (pod !== undefined && runs) this.#report(pod, state, plan);
    const permitted = runs || plan.goal === 'delete' ? plan.actions : [];
    const actions = permitted.filter((action) => action.kind !== 'release' || !this.#isReleased(pod));
    if (actions.length === 0) {
      await this.#refreshVolumes(pod, state, step);
      return { wakeAt: plan.wakeAt };
    }
    await gate.pass(step);
    if (pods.get(this.#uid) !== pod) return 'again';
    await this.#execute(pod, state, actions, step, signal);
    return pod === undefined && actions.some((action) => action.kind === 'release') ? 'ended' : 'again';
  }

  /** Probes what runs. An ending pod is not asked whether it lives. */
  #probe(pod: Pod | undefined, state: PodState | undefined, signal: AbortSignal): void {
    const { facts } = this.#services;
    const address = pod?.spec?.hostNetwork === true ? facts.hostAddress : addressOf(state);
    const specs = [...(pod?.spec?.containers ?? []), ...(pod?.spec?.initContainers ?? [])];
    const targets = specs.flatMap((container) => {
      const running = state?.containers.find((candidate) => candidate.name === container.name);
      if (running?.state !== 'running') return [];
      const startedAt = running.startedAt ?? running.createdAt;
      return [{ container, containerId: running.id, address, startedAt }];
    });
    this.#probes.sync(targets, this.#goal === 'run' ? 'running' : 'ending', signal);
  }

  #tellUnhealthy(container: string, kind: ProbeKind, message: string): void {
    const { pods, events } = this.#services;
    const pod = pods.get(this.#uid);
    const name = `${kind.charAt(0).toUpperCase()}${kind.slice(1)}`;
    if (pod === undefined) return;
    events.event(pod, 'Warning', 'Unhealthy', `${name} probe failed: ${message}`, containerPath(pod, container));
  }

  #rest(wakeAt: Instant | undefined, signal: AbortSignal): Promise<void> {
    if (this.#look === 'needed') return Promise.resolve();
    const { clock } = this.#services;
    return new Promise((resolve) => {
      const done = () => {
        cancel?.();
        this.#wakeUp = undefined;
        signal.removeEventListener('abort', done);
        resolve();
      };
      const cancel = wakeAt === undefined ? undefined : clock.setTimer(wakeAt - clock.now(), done);
      this.#wakeUp = done;
      signal.addEventListener('abort', done, { once: true });
    });
  }

  #report(pod: Pod, state: PodState | undefined, plan: PodPlan): void {
    const { reporter, facts, clock } = this.#services;
    this.#tellWaiting(pod, state, plan);
    const observation = {
      pod,
      state,
      plan,
      memory: this.#memory,
      hostAddress: facts.hostAddress,
      messages: this.#messages,
    };
    reporter.report(this.#uid, podStatus(observation, clock.now()));
  }

  /** Says once per attempt that a container waits before its next one. */
  #tellWaiting(pod: Pod, state: PodState | undefined, plan: PodPlan): void {
    const { events } = this.#services;
    for (const [name, { reason }] of plan.waiting) {
      const attempt = state?.containers.find((container) => container.name === name)?.id ?? '';
      const told = `${reason}/${attempt}/${this.#memory.setbacks.get(name)?.failures ?? 0}`;
      if (this.#told.get(name) === told) continue;
      this.#told.set(name, told);
      const path = containerPath(pod, name);
      if (reason === 'CrashLoopBackOff') {
        events.event(
          pod,
          'Warning',
          'BackOff',
          `Back-off restarting failed container ${name} in pod ${formatPod(pod)}`,
          path,
        );
      } else if (reason === 'ImagePullBackOff') {
        const containers = [...(pod.spec?.containers ?? []), ...(pod.spec?.initContainers ?? [])];
        const image = containers.find((container) => container.name === name)?.image ?? '';
        events.event(pod, 'Normal', 'BackOff', `Back-off pulling image "${image}"`, path);
        events.event(pod, 'Warning', 'Failed', 'Error: ImagePullBackOff', path);
      }
    }
  }

  async #readMessages(state: PodState | undefined): Promise<void> {
    const present = new Set(state?.containers.map(({ id }) => id));
    for (const id of this.#messages.keys()) if (!present.has(id)) this.#messages.delete(id);
    for (const container of state?.containers ?? []) {
      if (container.state !== 'exited' || container.terminationMessagePath === undefined) continue;
      if (this.#messages.has(container.id)) continue;
      this.#messages.set(
        container.id,
        await this.#services.volumes.terminationMessage(container.terminationMessagePath),
      );
    }
  }

  async #execute(
    pod: Pod | undefined,
    state: PodState | undefined,
    actions: readonly PodAction[],
    step: AbortSignal,
    signal: AbortSignal,
  ): Promise<void> {
    const results = await Promise.allSettled(actions.map((action) => this.#act(pod, state, action, step, signal)));
    // Thrown only now that none is under way any more: the next look must not plan what is still being done.
    for (const result of results) if (result.status === 'rejected') throw result.reason;
  }

  async #act(
    pod: Pod | undefined,
    state: PodState | undefined,
    action: PodAction,
    step: AbortSignal,
    signal: AbortSignal,
  ): Promise<void> {
    const { runtime, starts, addresses } = this.#services;
    switch (action.kind) {
      case 'mountVolumes':
        return pod === undefined ? undefined : this.#mount(pod, state, step);
      case 'createSandbox':
        return pod === undefined ? undefined : starts.use(() => this.#createSandbox(pod, action.attempt, step), step);
      case 'startContainer':
        return pod === undefined ? undefined : this.#start(pod, state, action, step);
      case 'stopContainer':
        this.#stop(pod, action, signal);
        return undefined;
      case 'stopSandbox':
      case 'removeSandbox': {
        const address = state?.sandboxes.find((sandbox) => sandbox.id === action.id)?.address ?? '';
        addresses.rest(address);
        if (action.kind === 'stopSandbox') return runtime.sandboxes.stopSandbox(action.id, step);
        return runtime.sandboxes.removeSandbox(action.id, step);
      }
      case 'removeContainer':
        return runtime.containers.removeContainer(action.id, step);
      case 'release':
        return this.#release(pod, step);
    }
  }

  async #mount(pod: Pod, state: PodState | undefined, step: AbortSignal): Promise<void> {
    const { volumes, events, clock, random } = this.#services;
    try {
      await volumes.sync(pod, addressOf(state), step);
      this.#memory.volumes = 'ready';
      this.#volumesSyncedMs = clock.monotonicMs();
    } catch (error) {
      step.throwIfAborted();
      const before = typeof this.#memory.volumes === 'object' ? this.#memory.volumes : undefined;
      this.#memory.volumes = setbackAfter(error, before, clock.now(), random);
      events.event(pod, 'Warning', 'FailedMount', errorMessage(error));
    }
  }

  async #refreshVolumes(pod: Pod | undefined, state: PodState | undefined, step: AbortSignal): Promise<void> {
    const { volumes, clock, logger } = this.#services;
    const due = clock.monotonicMs() - this.#volumesSyncedMs >= VOLUME_REFRESH_MS;
    if (pod === undefined || this.#goal !== 'run' || this.#memory.volumes !== 'ready' || !due) return;
    this.#volumesSyncedMs = clock.monotonicMs();
    try {
      await volumes.sync(pod, addressOf(state), step);
    } catch (error) {
      step.throwIfAborted();
      logger.warn({ pod: this.#uid, reason: errorMessage(error) }, 'volumes keep their old content');
    }
  }

  async #createSandbox(pod: Pod, attempt: number, step: AbortSignal): Promise<void> {
    const { events, clock, random } = this.#services;
    try {
      await startSandbox(pod, attempt, this.#services, step);
      delete this.#memory.sandbox;
    } catch (error) {
      step.throwIfAborted();
      this.#memory.sandbox = setbackAfter(error, this.#memory.sandbox, clock.now(), random);
      events.event(pod, 'Warning', 'FailedCreatePodSandBox', `Failed to create pod sandbox: ${errorMessage(error)}`);
    }
  }

  async #start(pod: Pod, state: PodState | undefined, action: StartAction, step: AbortSignal): Promise<void> {
    const { events, clock, random } = this.#services;
    const { name } = action.container;
    const sandbox = state?.sandboxes.find((candidate) => candidate.id === action.sandboxId);
    try {
      await startContainer(pod, action, sandbox, this.#services, step);
      this.#memory.setbacks.delete(name);
    } catch (error) {
      step.throwIfAborted();
      const setback = setbackAfter(error, this.#memory.setbacks.get(name), clock.now(), random);
      this.#memory.setbacks.set(name, setback);
      const isImage = setback.reason.startsWith('Err') || setback.reason === 'InvalidImageName';
      const message = `Error: ${isImage ? setback.reason : setback.message}`;
      events.event(pod, 'Warning', 'Failed', message, containerPath(pod, name));
    }
  }

  /** Runs beside the steps: its end is an event of the engine, and a shorter grace must be able to overtake it. */
  #stop(pod: Pod | undefined, action: Extract<PodAction, { kind: 'stopContainer' }>, signal: AbortSignal): void {
    const { runtime, events, clock, logger } = this.#services;
    const { id, name, graceSeconds, message } = action;
    this.#memory.stopping.set(id, clock.now() + graceSeconds * 1000);
    if (pod !== undefined) {
      const isSandboxChange = message.startsWith('Pod sandbox');
      if (isSandboxChange) events.event(pod, 'Normal', 'SandboxChanged', message);
      else events.event(pod, 'Normal', 'Killing', message, containerPath(pod, name));
    }
    runtime.containers
      .stopContainer(id, graceSeconds, signal)
      .catch(async (error: unknown) => {
        if (signal.aborted) return;
        logger.warn({ pod: this.#uid, container: id, reason: errorMessage(error) }, 'stopping a container failed');
        await pause(clock, FAILURE_BACKOFF.maxMs, signal);
      })
      .finally(() => {
        this.#memory.stopping.delete(id);
        this.wake();
      });
  }

  /** An object that others still hold by finalizers is deleted by us once. */
  #isReleased(pod: Pod | undefined): boolean {
    return pod !== undefined && this.#releasedVersion === pod.metadata.deletionTimestamp;
  }

  async #release(pod: Pod | undefined, step: AbortSignal): Promise<void> {
    const { volumes, client } = this.#services;
    await volumes.release(this.#uid);
    if (pod === undefined) return;
    const { name = '', namespace = '' } = pod.metadata;
    const options = { gracePeriodSeconds: 0, preconditions: { uid: this.#uid } };
    try {
      await client.write({ verb: 'delete', resource: PODS, key: { namespace, name }, options }, step);
    } catch (error) {
      if (!isReason(error, 'NotFound') && !isReason(error, 'Conflict')) throw error;
    }
    this.#releasedVersion = pod.metadata.deletionTimestamp;
  }
}

function addressOf(state: PodState | undefined): string {
  return state?.sandboxes.find((sandbox) => sandbox.state === 'running')?.address ?? '';
}
