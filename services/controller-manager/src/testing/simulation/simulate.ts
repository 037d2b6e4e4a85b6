import { startInProcessServer } from '@gantry/apiserver/testing';
import { errorMessage } from '@gantry/base';
import type { Log } from '@gantry/controller-runtime';
import {
  HORIZONTAL_POD_AUTOSCALERS,
  JOBS,
  type KubeObject,
  LEASES,
  NAMESPACES,
  NODES,
  type Resource,
} from '@gantry/objects';
import { Activity, createDice, type Faults, silentLog } from '@gantry/controller-runtime/testing';
import { followEndState } from './end-state.ts';
import { createHistory } from './history.ts';
import { watchInvariants } from './invariants/all.ts';
import { isUnfinished } from './invariants/jobs.ts';
import { quietMs, restViolations } from './invariants/rest.ts';
import { controllerNames, type ManagerProcess, startManagerProcess } from './manager-process.ts';
import { Nodes } from './nodes.ts';
import type { Step } from './operation.ts';
import { RequestLog, type RequestShares } from './request-log.ts';
import { playHistory } from './users.ts';
import { type Change, isOf, World } from './world.ts';

/** The result of one run of a history. */
export interface Outcome extends RequestShares {
  readonly violations: readonly string[];
  readonly end: readonly string[];
  readonly wastedClasses: readonly string[];
  /** Identifies the run: the revision and name of every change. */
  readonly trace: readonly string[];
  readonly crashes: number;
  readonly simulatedMs: number;
}

export interface SimulateOptions {
  readonly seed: number;
  readonly faults: 'none' | 'many';
  readonly log?: Log;
  /** Reports every change of the store, with the simulated time. */
  readonly onChange?: (change: Change, now: number) => void;
  /** When absent, the history of the seed is used. */
  readonly steps?: readonly Step[];
  /**
   * How long the cluster stays at rest while requests are counted, in milliseconds. When absent, the requests of the last minute before the
   * end are counted.
   */
  readonly restMs?: number;
}

/**
 * Resources that change even at rest. Nodes have heartbeats. The autoscalers of a new leader start with the present count as their only
 * recommendation, as in Kubernetes.
 */
const UNSETTLED: readonly Resource[] = [NODES, HORIZONTAL_POD_AUTOSCALERS];
const MINUTE_MS = 60_000;
const SHOWN = 10;
/** A history that has not come to rest after this time has failed. */
const LONGEST_MS = 3 * 3_600_000;

/** Runs the history of a seed with all controllers. The same options lead to exactly the same changes. */
export async function simulate(options: SimulateOptions): Promise<Outcome> {
  const simulation = await Simulation.create(options);
  try {
    return await simulation.run();
  } finally {
    await simulation.stop();
  }
}

class Simulation {
  readonly #options: SimulateOptions;
  readonly #server: Awaited<ReturnType<typeof startInProcessServer>>;
  readonly #world = new World();
  readonly #activity: Activity;
  readonly #nodes: Nodes;
  readonly #stop = new AbortController();
  readonly #violations: string[] = [];
  readonly #trace: string[] = [];
  readonly #log: RequestLog;
  readonly #endState = followEndState(this.#world);
  #changedMs = 0;
  #manager: ManagerProcess | undefined;
  /** The objects that users have deleted. */
  readonly #deletions = new Set<string>();
  #managers = 0;
  #faults: Faults | undefined;
  #writesLeft = Number.POSITIVE_INFINITY;
  #crashes = 0;

  static async create(options: SimulateOptions): Promise<Simulation> {
    return new Simulation(options, await startInProcessServer(options.seed));
  }

  private constructor(options: SimulateOptions, server: Awaited<ReturnType<typeof startInProcessServer>>) {
    this.#options = options;
    this.#server = server;
    const { clock, etcd } = server;
    this.#log = new RequestLog(() => clock.now());
    this.#activity = new Activity(clock, () => etcd.revision);
    const nodesClient = server.client({ fieldManager: 'kubelet' });
    this.#nodes = new Nodes({
      client: nodesClient,
      world: this.#world,
      clock,
      activity: this.#activity,
      dice: createDice(options.seed, 'nodes'),
      signal: this.#stop.signal,
    });
  }

  async run(): Promise<Outcome> {
    const { clock } = this.#server;
    const begin = clock.now();
    this.#watch();
    await this.#activity.until(this.#prepare());
    if (this.#options.faults === 'many') this.#beginFaults();
    const { seed, steps = createHistory(seed, controllerNames()) } = this.#options;
    const users = {
      client: this.#server.client({ fieldManager: 'kubectl' }),
      world: this.#world,
      clock,
      activity: this.#activity,
      nodes: this.#nodes,
      onDelete: (object: KubeObject) => this.#deletions.add(identityOf(object)),
      signal: this.#stop.signal,
    };
    const played = playHistory(users, steps).catch((error: unknown) => {
      this.#violations.push(`I21: ${errorMessage(error)}`);
    });
    await this.#activity.until(played);
    this.#endFaults();
    await this.#untilAtRest();
    const restBegin = this.#options.restMs === undefined ? clock.now() - MINUTE_MS : clock.now();
    while (clock.now() < restBegin + (this.#options.restMs ?? 0)) await this.#activity.step();
    const shares = this.#log.sharesAt(restBegin);
    this.#violations.push(...restViolations(this.#world));
    const end = this.#endState.lines();
    await this.#restartAtRest(end);
    return {
      violations: this.#violations,
      end,
      wastedClasses: this.#endState.wastedClasses(),
      trace: this.#trace,
      ...shares,
      crashes: this.#crashes,
      simulatedMs: clock.now() - begin,
    };
  }

  async stop(): Promise<void> {
    this.#manager?.crash();
    this.#stop.abort();
    await this.#server.stop();
  }

  /** Follows the store from its first revision. */
  #watch(): void {
    const background = {
      now: () => this.#server.clock.now(),
      isLost: (node: string) => this.#nodes.isLost(node),
      isDeletedByUser: (object: KubeObject) => this.#deletions.has(identityOf(object)),
    };
    watchInvariants(this.#world, background, (violation) => this.#violations.push(violation));
    this.#world.subscribe((change) => this.#note(change));
    void this.#follow();
  }

  async #follow(): Promise<void> {
    for await (const changes of this.#server.changes(1, this.#stop.signal)) {
      for (const change of changes) this.#world.take(change);
    }
  }

  #note(change: Change): void {
    this.#options.onChange?.(change, this.#server.clock.now());
    if (isOf(change, LEASES) || change.resource.resource === 'events') return;
    const { resource, name, resourceVersion, object } = change;
    this.#trace.push(`${resourceVersion} ${resource.resource} ${name}${object === undefined ? ' gone' : ''}`);
    this.#changedMs = this.#server.clock.now();
  }

  async #prepare(): Promise<void> {
    const client = this.#server.client({ fieldManager: 'bootstrap' });
    for (const name of ['kube-system', 'kube-node-lease']) {
      await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }, this.#stop.signal);
    }
    await this.#nodes.start();
    await this.#elect();
  }

  async #elect(): Promise<void> {
    this.#managers += 1;
    const { seed, log = silentLog } = this.#options;
    const { clock } = this.#server;
    this.#manager = await startManagerProcess(
      {
        server: this.#server,
        world: this.#world,
        clock,
        activity: this.#activity,
        dice: createDice(seed, `manager ${this.#managers}`),
        log,
        faults: () => this.#faults,
        onRequest: (verb, resource) => this.#log.noteRequest(verb, resource),
        noteWrite: (controller, write) => this.#log.noteWrite(controller, write),
        onWrite: (_write, moment) => this.#countWrite(moment),
      },
      `manager-${this.#managers}`,
    );
  }

  #beginFaults(): void {
    const dice = createDice(this.#options.seed, 'faults');
    const some = (most: number): number => (dice.chance(0.3) ? 0 : most * dice.random());
    this.#faults = {
      requestFails: some(0.15),
      answerLost: some(0.1),
      watchBreaks: some(0.1),
      historyLost: some(0.05),
      viewLate: some(0.5),
      repeated: some(0.1),
      lateMs: dice.pick([50, 500, 5000]),
    };
    this.#crashSoon();
  }

  #crashSoon(): void {
    this.#writesLeft = createDice(this.#options.seed, `crash ${this.#managers}`).between(1, 60);
  }

  /** Crashes the manager when it has used up its number of writes: either just before the last write is sent, or after it was committed. */
  #countWrite(moment: 'before' | 'after'): void {
    if (moment === 'before') {
      this.#writesLeft -= 1;
      if (this.#writesLeft > 0) return;
    } else if (this.#writesLeft > 0) return;
    const dice = createDice(this.#options.seed, `crash ${this.#managers} ${moment}`);
    if (moment === 'before' && dice.chance(0.5)) return;
    this.#crash(dice.between(10, 8000));
  }

  #crash(delayMs: number): void {
    this.#writesLeft = Number.POSITIVE_INFINITY;
    this.#crashes += 1;
    this.#manager?.crash();
    this.#server.clock.setTimer(delayMs, () => {
      if (this.#stop.signal.aborted) return;
      void this.#elect();
      if (this.#faults !== undefined) this.#crashSoon();
    });
  }

  #endFaults(): void {
    this.#faults = undefined;
    this.#writesLeft = Number.POSITIVE_INFINITY;
    this.#nodes.calm();
    this.#changedMs = this.#server.clock.now();
  }

  /** Checks that a new leader of a cluster at rest writes nothing. */
  async #restartAtRest(end: readonly string[]): Promise<void> {
    const before = this.#trace.length;
    this.#manager?.crash();
    await this.#activity.until(this.#elect());
    this.#changedMs = this.#server.clock.now();
    await this.#untilAtRest();
    const written = this.#trace
      .slice(before)
      .filter((line) => !UNSETTLED.some(({ resource }) => line.includes(` ${resource} `)));
    if (written.length > 0)
      this.#violations.push(`I15: a new leader wrote over a cluster at rest: ${written.slice(0, SHOWN).join(', ')}`);
    const now = this.#endState.lines();
    if (now.join('\n') !== end.join('\n')) this.#violations.push('I21: the end state did not stay');
  }

  async #untilAtRest(): Promise<void> {
    const { clock } = this.#server;
    const latest = clock.now() + LONGEST_MS;
    while (clock.now() < this.#changedMs + quietMs(this.#world) || this.#world.all(JOBS).some(isUnfinished)) {
      await this.#activity.step();
      if (clock.now() > latest) {
        this.#violations.push(`I21: not at rest: ${this.#trace.slice(-5).join(', ')}`);
        return;
      }
    }
  }
}

function identityOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}
