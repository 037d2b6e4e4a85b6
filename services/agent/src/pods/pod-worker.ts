import { type AfterStep, PodSteps } from './pod-steps.ts';
import { allEnded, errorMessage } from '@gantry/base';
import { formatKey, hasEnded, keyOf, type Pod } from '@gantry/objects';
import { interpretEnds, killedIn } from '../plan/interpret-ends.ts';
import { computePodActions, isFenced } from '../plan/plan.ts';
import type { Eviction } from '../plan/pod-memory.ts';
import type { PodAction, PodPlan } from '../plan/pod-plan.ts';
import { type ProbedContainer, ProbeRunner } from '../probes/probe-runner.ts';
import type { ContainerState } from '../runtime/containers.ts';
import { engineIdOf } from '../runtime/labels.ts';
import type { PodState } from '../runtime/observer.ts';
import type { SandboxState } from '../runtime/sandboxes.ts';
import { allContainersOf } from '../spec/pod-containers.ts';
import { judgeResize } from '../spec/resize.ts';
import { isStaticPod } from '../spec/static-pod.ts';
import { podStatus } from '../status/pod-status.ts';
import { restartDelays, restartedIds } from '../plan/restarted-containers.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import { endsSomething, performAction } from './perform-action.ts';
import { PodDeadline } from './pod-deadline.ts';
import { ResizeEvents } from './resize-events.ts';
import { stateWith, addressOf, networkOf } from './pod-observation.ts';
import { forgetEnded } from './stop-container.ts';
import { TerminationMessages } from './termination-messages.ts';
import type { PodObservers, StartServices, WorkerServices } from './worker-services.ts';
import { volumesKey } from './mount-volumes.ts';
import { maxRestartDelay } from '../spec/restart-policy.ts';

/** How often the content of volumes is updated without a noticed change, because tokens expire. */
const VOLUME_REFRESH_MS = 60_000;

/**
 * Makes one pod's containers match its object: reads, plans and acts until the plan is empty, then sleeps until it is notified. It ends
 * when neither object nor containers are left.
 */
export class PodWorker extends PodSteps {
  readonly #services: StartServices;
  readonly #observers: PodObservers;
  readonly #resizes: ResizeEvents;
  readonly #messages: TerminationMessages;
  readonly #deadline: PodDeadline;
  readonly #probes: ProbeRunner;

  /** `isFollowed` returns whether changes in the engine are reported to `engineChanged`. */
  constructor(uid: string, services: WorkerServices, isFollowed: () => boolean) {
    super(uid, services, isFollowed);
    const { runtime, clock, random, events, volumes, pods, observers } = services;
    const { probes } = observers;
    this.#services = services;
    this.#observers = observers;
    this.#deadline = new PodDeadline(clock, () => this.notify());
    this.#resizes = new ResizeEvents(events);
    this.#messages = new TerminationMessages({ volumes, logs: runtime.logs });
    this.#probes = new ProbeRunner({
      ...probes,
      containers: runtime.containers,
      clock,
      random,
      onFindings: (name, findings) => {
        this.memory.probes.set(name, findings);
        this.notify();
      },
      onOutcome: (container, kind, outcome) => {
        const pod = pods.get(uid);
        if (pod !== undefined) probes.metrics.count({ ...keyOf(pod), uid }, container, kind, outcome);
      },
      onFailure: (container, kind, failure) => {
        const pod = pods.get(uid);
        if (pod !== undefined) this.events.unhealthy(pod, container, kind, failure);
      },
      onWarning: (container, kind, message) => {
        const pod = pods.get(uid);
        if (pod !== undefined) this.events.probeWarning(pod, container, kind, message);
      },
    });
  }

  /** Also true when the pod is evicted or its deadline has passed. */
  protected override isEnding(pod: Pod | undefined): boolean {
    const isOver = super.isEnding(pod) || this.#observers.evictions.evictionOf(this.uid) !== undefined;
    return isOver || this.#deadline.watch(pod) === 'over';
  }

  protected override isCutOff(): boolean {
    return isFenced({ instances: this.memory.instances, link: this.#observers.fence.link() });
  }

  protected override evicted(eviction: Eviction): void {
    this.#observers.evictions.takeOver(this.uid, eviction);
  }

  protected override stop(): void {
    const { probes, usage, evictor, evictions, admission } = this.#observers;
    this.#probes.stop();
    this.#deadline.cancel();
    probes.metrics.forget(this.uid);
    usage.observe(this.uid, undefined);
    evictor.forget(this.uid);
    evictions.forget(this.uid);
    admission.forget(this.uid);
    this.#services.configs.follow(this.uid, undefined);
    this.#services.atMostOne.forget(this.uid);
  }

  protected async once(step: AbortSignal, signal: AbortSignal): Promise<AfterStep> {
    const { pods, clock, configs, volumes, atMostOne } = this.#services;
    const { evictions, evictor, admission, usage, fence } = this.#observers;
    const listed = await this.look(step);
    const pod = pods.get(this.uid);
    this.#deadline.watch(pod);
    const state = interpretEnds(pod, listed, this.memory.killed);
    for (const id of killedIn(listed, state)) this.memory.killed.add(id);
    forgetEnded(this.memory, state);
    const specs = pod === undefined ? [] : allContainersOf(pod).map(({ container }) => container);
    const messages = await this.#messages.read(this.uid, state?.containers ?? [], specs, step);
    if (pod !== undefined) this.memory.rejection = await admission.judge(pod, state, step);
    const { allocatable } = this.#services.facts;
    if (pod !== undefined) this.memory.resize = judgeResize(pod, pods.list(), allocatable, state);
    this.memory.predecessor = await this.#predecessor(pod, state, step);
    this.memory.instances = await atMostOne.judge(pod, state, step);
    this.memory.link = fence.link();
    this.memory.eviction = evictions.evictionOf(this.uid);
    this.memory.remains = evictions.isReclaimed(this.uid) ? 'reclaimed' : 'kept';
    this.memory.maxRestartDelayMs = this.#maxRestartDelayMs(pod);
    if (pod !== undefined) this.#noteRestartOfAll(pod, state?.containers ?? []);
    if (pod !== undefined) this.#takeOverFindings(pod, state?.containers ?? []);
    const plan = computePodActions(pod, state, this.memory, clock.now());
    this.goal = plan.goal;
    if (plan.goal === 'end' && state?.containers.some((container) => container.state === 'running') !== true)
      volumes.end(this.uid);
    usage.observe(this.uid, state);
    evictor.observe(this.uid, state);
    configs.follow(this.uid, plan.goal === 'run' ? pod : undefined);
    this.#syncProbes(pod, state, signal);
    if (pod !== undefined) this.#report(pod, state, plan, messages);
    const actions = this.#permitted(pod, plan);
    if (actions.length === 0) {
      await this.#refreshVolumes(pod, state, step);
      return { requeueAt: plan.requeueAt ?? Infinity };
    }
    if (!isFenced(this.memory)) await this.#gateOf(actions).pass(step);
    if (pods.get(this.uid) !== pod) return 'again';
    try {
      const report = (next: PodState) => {
        if (pod !== undefined) this.#report(pod, next, plan, messages);
      };
      await this.#perform(pod, state, actions, report, step, signal);
    } finally {
      this.outdate();
    }
    return pod === undefined && actions.some((action) => action.kind === 'release') ? 'ended' : 'again';
  }

  /** Whether the engine has another pod of the same name, from the file's earlier content. */
  async #predecessor(
    pod: Pod | undefined,
    state: PodState | undefined,
    step: AbortSignal,
  ): Promise<'absent' | 'present'> {
    if (pod === undefined || state !== undefined || !isStaticPod(pod)) return 'absent';
    const states = await this.#services.runtime.observer.listPods(this.#services.owner, step);
    return states.some(({ identity }) => formatKey(identity) === formatKey(keyOf(pod))) ? 'present' : 'absent';
  }

  #maxRestartDelayMs(pod: Pod | undefined): number {
    const { ms, fault } = maxRestartDelay(pod, this.#observers.maxRestartDelayMs);
    if (pod !== undefined && fault !== undefined) this.events.invalidAnnotation(pod, fault);
    return ms;
  }

  #noteRestartOfAll(pod: Pod, containers: readonly ContainerState[]): void {
    const before = this.memory;
    this.memory.restartedIds = restartedIds(pod, containers, before.restartedIds);
    this.memory.restartDelays = restartDelays(pod, containers, before.restartDelays, before.maxRestartDelayMs);
  }

  /** Omits the release of an object that was already released but is kept by finalizers, and starts while the node must start nothing. */
  #permitted(pod: Pod | undefined, { actions }: PodPlan): readonly PodAction[] {
    const isReleased = pod !== undefined && this.memory.releasedFor === pod.metadata.deletionTimestamp;
    const mayStart = this.memory.instances === 'any' || this.#observers.fence.holdsLease();
    return actions.filter(
      (action) => (action.kind !== 'release' || !isReleased) && (mayStart || endsSomething(action)),
    );
  }

  /** The gate for these actions. A pod that runs at most once is started only while the node holds its Lease. */
  #gateOf(actions: readonly PodAction[]): FreshnessGate {
    const isBound = this.memory.instances === 'at-most-one' && !actions.every(endsSomething);
    return isBound ? this.#services.leaseGate : this.gate;
  }

  /** The containers that a former agent has probed are as started and ready as its last report says. */
  #takeOverFindings({ status }: Pod, containers: readonly ContainerState[]): void {
    const { probes } = this.memory;
    const reported = [...(status?.containerStatuses ?? []), ...(status?.initContainerStatuses ?? [])];
    for (const { name, id, state } of containers) {
      if (state !== 'running' || probes.get(name)?.containerId === id) continue;
      const { started = false, ready = false } = reported.find((one) => engineIdOf(one) === id) ?? {};
      probes.set(name, { containerId: id, started, ready });
    }
  }

  #syncProbes(pod: Pod | undefined, state: PodState | undefined, signal: AbortSignal): void {
    const targets = (pod === undefined ? [] : allContainersOf(pod)).flatMap(({ container }): ProbedContainer[] => {
      if (pod === undefined) return [];
      const running = state?.containers.find((candidate) => candidate.name === container.name);
      if (running?.state !== 'running') return [];
      const startedAt = running.startedAt ?? running.createdAt;
      const known = this.memory.probes.get(container.name);
      const network = networkOf(pod, state, this.#services.facts);
      return [{ container, containerId: running.id, startedAt, known, ...network }];
    });
    this.#probes.sync(targets, this.goal === 'run' ? 'running' : 'ending', signal);
    if (this.goal !== 'run' && targets.length === 0) this.#observers.probes.metrics.forget(this.uid);
  }

  #report(pod: Pod, state: PodState | undefined, plan: PodPlan, messages: ReadonlyMap<string, string>): void {
    const { facts, clock, engine } = this.#services;
    this.events.waiting(pod, state, plan, this.memory);
    if (plan.goal === 'run') this.#resizes.observe(pod, state, this.memory);
    const { rejection } = this.memory;
    if (rejection !== undefined && plan.goal === 'end' && !hasEnded(pod)) this.events.rejected(pod, rejection);
    const { recursiveReadOnly } = engine;
    const common = { nodeAddress: facts.nodeAddress, messages, recursiveReadOnly };
    const observation = { pod, state, plan, memory: this.memory, ...common };
    this.#observers.reporter.report(this.uid, podStatus(observation, clock.now()));
  }

  async #perform(
    pod: Pod | undefined,
    state: PodState | undefined,
    actions: readonly PodAction[],
    report: (state: PodState) => void,
    step: AbortSignal,
    signal: AbortSignal,
  ): Promise<void> {
    const { uid, memory, events } = this;
    const gate = this.#gateOf(actions);
    const services = this.#services;
    const notify = () => this.engineChanged();
    const sandboxRuns = (sandbox: SandboxState) => {
      if (pod !== undefined) report(stateWith(pod, services.owner, state, sandbox));
    };
    const context = { uid, pod, state, memory, events, services, gate, step, signal, sandboxRuns, notify };
    // Rejects only when all actions have ended, so that the next plan does not repeat a running action.
    await allEnded(actions.map((action) => performAction(action, context)));
  }

  async #refreshVolumes(pod: Pod | undefined, state: PodState | undefined, step: AbortSignal): Promise<void> {
    const { volumes, configs, clock, logger } = this.#services;
    if (pod === undefined || this.goal !== 'run' || this.memory.volumes !== 'ready') return;
    const key = volumesKey(pod, configs.changesOf(this.uid));
    const isOld = clock.monotonicMs() - this.memory.volumesSyncedMs >= VOLUME_REFRESH_MS;
    if (!isOld && key === this.memory.volumesKey) return;
    this.memory.volumesSyncedMs = clock.monotonicMs();
    this.memory.volumesKey = key;
    try {
      await volumes.sync(pod, addressOf(state), step);
    } catch (error) {
      step.throwIfAborted();
      logger.warn({ pod: this.uid, reason: errorMessage(error) }, 'volumes keep their old content');
    }
  }
}
