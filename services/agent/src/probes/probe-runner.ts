import { type Clock, errorMessage, type Instant, type Random, withDeadline } from '@gantry/base';
import type { Container, Probe } from '@gantry/objects';
import type { ContainerRuntime } from '../runtime/containers.ts';
import { performProbe } from './perform-probe.ts';
import {
  countProbe,
  judgeProbes,
  knownCounts,
  type ProbeCount,
  type ProbeFindings,
  type ProbeJudgement,
  type ProbeKind,
  runsNow,
} from './probe-counter.ts';
import { type CommandLimits, PodCommands } from './pod-commands.ts';
import type { ProbeMetrics } from './probe-metrics.ts';
import type { ProbeFailure, ProbeOutcome, ProbeTarget } from './probe-types/probe-type.ts';
import type { TimerWheel } from './timer-wheel.ts';

/** How often a probe is tried that ends with an error instead of a result (Kubernetes: maxProbeRetries). */
const MAX_TRIES = 3;

/** A running container to probe. */
export interface ProbedContainer extends ProbeTarget {
  readonly startedAt: Instant;
  /** What is known of this container before its first probe here; nothing when absent. */
  readonly known?: ProbeJudgement;
}

/** The outcome of a probe and its duration. */
export type TimedOutcome = ProbeOutcome & { readonly seconds: number };

/** Shared by the probes of all pods of a node. */
export interface ProbeTools {
  readonly timers: TimerWheel;
  readonly commands: CommandLimits;
  readonly metrics: ProbeMetrics;
}

export interface ProbeRunnerOptions extends Omit<ProbeTools, 'metrics'> {
  readonly containers: Pick<ContainerRuntime, 'exec'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when the findings of a container have changed. */
  readonly onFindings: (name: string, findings: ProbeFindings) => void;
  /** Called after each probe, with its duration. */
  readonly onOutcome: (container: string, kind: ProbeKind, outcome: TimedOutcome) => void;
  readonly onFailure: (container: string, kind: ProbeKind, failure: ProbeFailure) => void;
  /** Called when a successful probe has a warning. */
  readonly onWarning: (container: string, kind: ProbeKind, message: string) => void;
}

interface Probed {
  readonly containerId: string;
  readonly abort: AbortController;
  /** Ends the probes that could restart the container. */
  readonly ending: AbortController;
  readonly counts: Record<ProbeKind, ProbeCount>;
  /** The last reported findings. */
  reported: string;
}

/** Runs the probes of one pod's running containers, each with its own period. */
export class ProbeRunner {
  readonly #options: ProbeRunnerOptions;
  readonly #probed = new Map<string, Probed>();
  readonly #commands: PodCommands;

  constructor(options: ProbeRunnerOptions) {
    this.#options = options;
    this.#commands = new PodCommands(options.commands);
  }

  /**
   * Starts the probes of new containers, and stops those of containers that no longer run. In an ending pod, no probe starts and only
   * readiness continues, as in the kubelet: containers are not restarted, but endpoints still need their readiness.
   */
  sync(running: readonly ProbedContainer[], mode: 'running' | 'ending', signal: AbortSignal): void {
    const wanted = new Map(running.map((target) => [target.container.name, target]));
    for (const [name, probed] of this.#probed) {
      if (wanted.get(name)?.containerId === probed.containerId) continue;
      probed.abort.abort();
      this.#probed.delete(name);
    }
    if (mode === 'ending') {
      for (const { ending } of this.#probed.values()) ending.abort();
      return;
    }
    for (const target of running) if (!this.#probed.has(target.container.name)) this.#begin(target, signal);
  }

  stop(): void {
    for (const { abort } of this.#probed.values()) abort.abort();
    this.#probed.clear();
  }

  #begin(target: ProbedContainer, signal: AbortSignal): void {
    const { container, containerId } = target;
    const probes = probesOf(container);
    if (probes.length === 0) return;
    const abort = new AbortController();
    const ending = new AbortController();
    const probed: Probed = {
      containerId,
      abort,
      ending,
      counts: knownCounts(target.known ?? { started: false, ready: false }),
      reported: '',
    };
    this.#probed.set(container.name, probed);
    for (const [kind, probe] of probes) {
      const end = AbortSignal.any([signal, abort.signal, ...(kind === 'readiness' ? [] : [ending.signal])]);
      // `performProbe` never rejects, so a failure without an abort is a bug. Report it instead of silently ending the probe.
      this.#loop(kind, probe, target, probed, end).catch((error: unknown) => {
        if (!end.aborted) this.#options.onWarning(container.name, kind, `the probe has ended: ${errorMessage(error)}`);
      });
    }
  }

  async #loop(
    kind: ProbeKind,
    probe: Probe,
    target: ProbedContainer,
    probed: Probed,
    signal: AbortSignal,
  ): Promise<void> {
    const { clock, random, timers, onOutcome, onFailure, onWarning } = this.#options;
    const periodMs = (probe.periodSeconds ?? 10) * 1000;
    const firstAt = target.startedAt + (probe.initialDelaySeconds ?? 0) * 1000;
    // After an agent's restart, the first probes of existing containers are spread over up to two seconds.
    const isOld = clock.now() - target.startedAt > periodMs;
    await timers.wait(isOld ? random() * Math.min(periodMs, 2_000) : firstAt - clock.now(), signal);
    while (!signal.aborted) {
      if (runsNow(target.container, kind, probed.counts)) {
        const outcome = await this.#once(probe, target, signal);
        if (signal.aborted) return;
        onOutcome(target.container.name, kind, outcome);
        if (outcome.kind === 'failure') onFailure(target.container.name, kind, outcome);
        else if (outcome.warning !== undefined) onWarning(target.container.name, kind, outcome.warning);
        probed.counts[kind] = countProbe(probe, probed.counts[kind], outcome.kind);
        this.#report(target.container, probed);
        // The result is final: the container will be stopped.
        if (kind !== 'readiness' && probed.counts[kind].result === 'failing') return;
      } else if (kind === 'startup') return;
      // A probe that waits for the startup probe should run soon after that has passed.
      const waits = !runsNow(target.container, kind, probed.counts) && kind !== 'startup';
      await timers.wait(waits ? Math.min(periodMs, 1_000) : periodMs, signal);
    }
  }

  async #once(probe: Probe, target: ProbedContainer, signal: AbortSignal): Promise<TimedOutcome> {
    const { clock, containers } = this.#options;
    const runOnce = async () => {
      using deadline = withDeadline(clock, signal, (probe.timeoutSeconds ?? 1) * 1000);
      const startedMs = clock.monotonicMs();
      const outcome = await performProbe(probe, target, containers, deadline);
      return { ...outcome, seconds: (clock.monotonicMs() - startedMs) / 1000 };
    };
    const run = async () => {
      let outcome = await runOnce();
      for (let tries = 1; tries < MAX_TRIES && hadError(outcome) && !signal.aborted; tries++) outcome = await runOnce();
      return outcome;
    };
    // A command's wait for its turn does not count towards its timeout.
    return await (probe.exec === undefined ? run() : this.#commands.run(run, signal));
  }

  #report(container: Container, probed: Probed): void {
    const findings: ProbeFindings = { containerId: probed.containerId, ...judgeProbes(container, probed.counts) };
    const text = JSON.stringify(findings);
    if (text === probed.reported) return;
    probed.reported = text;
    this.#options.onFindings(container.name, findings);
  }
}

function hadError(outcome: ProbeOutcome): boolean {
  return outcome.kind === 'failure' && outcome.cause === 'error';
}

function probesOf(container: Container): readonly (readonly [ProbeKind, Probe])[] {
  const { startupProbe, readinessProbe, livenessProbe } = container;
  return [
    ...(startupProbe === undefined ? [] : [['startup', startupProbe] as const]),
    ...(readinessProbe === undefined ? [] : [['readiness', readinessProbe] as const]),
    ...(livenessProbe === undefined ? [] : [['liveness', livenessProbe] as const]),
  ];
}
