import type { InProcessServer, StoredChange } from '@gantry/apiserver/testing';
import { type Clock, errorMessage, type Instant, must } from '@gantry/base';
import type { ObjectClient, ObjectWrite } from '@gantry/client';
import {
  Activity,
  createDice,
  createDisturbedClient,
  type Dice,
  type Faults,
} from '@gantry/controller-runtime/testing';
import { type KubeObject, NAMESPACES, type Resource } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { createOperator, type OperatorOptions } from '../index.ts';
import { merged } from '../rights.ts';
import { type Actor, Stage } from './actors.ts';
import { endState } from './end-state.ts';
import { disturbedOutside } from './disturbed-outside.ts';
import { World } from './world.ts';

/** What a user, or another controller, does in a history, with the client of an administrator. `clock` has the simulated time. */
export type Step<O = undefined> = (
  client: ObjectClient,
  signal: AbortSignal,
  clock: Pick<Clock, 'now'>,
  outside: O,
) => Promise<unknown>;

/** Reads what is in the store. The objects are shared: never change them. */
export interface ObjectsReader {
  all<T extends KubeObject>(resource: Resource<T>): readonly T[];
}

/** Returns what is wrong at a time, or undefined; an error counts as its message. */
export type Check<O = undefined> = (objects: ObjectsReader, now: Instant, outside: O) => string | undefined;

/** Crashes of the process before or after one of its writes. */
export interface CrashFaults {
  /** The probability that the process crashes at a write. It starts again later, with an empty cache. */
  readonly crash: number;
}

/** What one history consists of. */
export interface HistoryOptions<O> {
  readonly server: InProcessServer;
  readonly seed: number;
  readonly resources: readonly Resource[];
  /** Of webhooks; created at the start. */
  readonly configurations: readonly KubeObject[];
  readonly steps: readonly Step<O>[];
  /** Of this history. */
  readonly outside: O;
  readonly operator: (outside: O) => Pick<OperatorOptions, 'name' | 'controllers' | 'caches'>;
  readonly faults: (Faults & CrashFaults) | undefined;
  readonly actors: readonly Actor[];
  readonly invariant: Check<O> | undefined;
  readonly atEnd: Check<O> | undefined;
  /** At rest when nothing has changed for this time. */
  readonly quietMs: number;
  /** The history goes on for this time, and has no end to compare. */
  readonly runForMs: number | undefined;
}

/** How a history went. */
export interface Played {
  readonly reasons: readonly string[];
  readonly end: readonly string[];
  readonly history: readonly string[];
}

/** A history that has not come to rest after this time has failed. */
const LONGEST_MS = 3_600_000;
/** Of the writes at rest. */
const MOST_NAMED = 5;
/** The most steps of the clock between two steps of the users, and before a crashed process starts again. */
const MOST_PAUSES = 12;

/** One history of an operator on a simulated cluster. */
export class History<O> {
  readonly lines: string[] = [];
  readonly #options: HistoryOptions<O>;
  readonly #activity: Activity;
  readonly #world: World;
  readonly #stage: Stage;
  readonly #dice: Dice;
  readonly #stop = new AbortController();
  readonly #begin: number;
  readonly #reasons: string[] = [];
  #faults: (Faults & CrashFaults) | undefined;
  #process: AbortController | undefined;
  #processes = 0;
  /** Since the history is at rest. */
  #writesAtRest: string[] | undefined;
  #changedMs: number;

  constructor(options: HistoryOptions<O>) {
    const { server, seed, resources, faults } = options;
    this.#options = options;
    this.#faults = faults;
    this.#dice = createDice(seed, 'history');
    this.#activity = new Activity(server.clock, () => server.etcd.revision);
    this.#begin = server.clock.now();
    this.#changedMs = this.#begin;
    const find = (of: StoredChange['resource']) =>
      resources.find(({ group, resource }) => group === of.group && resource === of.resource);
    this.#world = new World(server, this.#activity, find, (error) =>
      this.#note(`the garbage collector's write is refused: ${errorMessage(error)}`),
    );
    this.#stage = new Stage({
      actors: options.actors,
      clock: server.clock,
      client: server.client({ fieldManager: 'actor' }),
      activity: this.#activity,
      onError: (wrong) => this.#note(wrong),
    });
  }

  async play(): Promise<Played> {
    void this.#follow();
    this.#start();
    const client = this.#options.server.client({ fieldManager: 'user' });
    for (const one of this.#options.configurations) {
      const resource = must(
        this.#options.resources.find(({ kind }) => kind === one.kind),
        one.kind,
      );
      await this.#until(client.create(resource, one, this.#stop.signal));
    }
    for (const step of this.#options.steps) {
      await this.#pause();
      const { server, outside } = this.#options;
      await this.#until(step(client, this.#stop.signal, server.clock, outside));
    }
    const { runForMs, quietMs, atEnd } = this.#options;
    if (runForMs !== undefined) await this.#untilTime(this.#begin + runForMs);
    this.#faults = undefined;
    let end: readonly string[] = [];
    if (runForMs === undefined) {
      await this.#untilAtRest();
      end = this.#end();
      await this.#restart(end);
    } else await this.#untilTime(this.#options.server.clock.now() + quietMs);
    this.#note(this.#wrongWith(atEnd));
    return { reasons: this.#reasons, end, history: this.lines };
  }

  async stop(): Promise<void> {
    this.#process?.abort();
    this.#stop.abort();
    await this.#options.server.stop();
  }

  /** A new process finds everything as it should be. */
  async #restart(end: readonly string[]): Promise<void> {
    this.#crash('at rest');
    await this.#step();
    const before = this.#end();
    await this.#untilAtRest();
    if (this.#end().join('\n') !== before.join('\n') || before.join('\n') !== end.join('\n')) {
      this.#reasons.push('a new process changed the end of the history');
    }
    const { clock } = this.#options.server;
    const restMs = clock.now();
    const writes: string[] = [];
    this.#writesAtRest = writes;
    while (clock.now() < restMs + this.#options.quietMs) await this.#step();
    if (writes.length === 0) return;
    const which = [...new Set(writes)].slice(0, MOST_NAMED).join(', ');
    this.#reasons.push(`the operator wrote ${writes.length} times at rest: ${which}`);
  }

  async #follow(): Promise<void> {
    for await (const changes of this.#options.server.changes(1, this.#stop.signal)) {
      for (const change of changes) this.#take(change);
    }
  }

  #note(wrong: string | undefined): void {
    if (wrong !== undefined && !this.#reasons.includes(wrong)) this.#reasons.push(wrong);
  }

  #take(change: StoredChange): void {
    const { resource, name, object } = change;
    this.#world.take(change, this.#stop.signal);
    if (object !== undefined) this.#stage.take(resource, object, this.#stop.signal);
    if (resource.resource === 'events' || resource.resource === 'leases') return;
    if (resource.resource !== NAMESPACES.resource)
      this.#line(`${resource.resource} ${name}${object === undefined ? ' is gone' : ''}`);
    this.#changedMs = this.#options.server.clock.now();
    this.#note(this.#wrongWith(this.#options.invariant));
  }

  #wrongWith(check: Check<O> | undefined): string | undefined {
    try {
      return check?.(this.#world, this.#options.server.clock.now(), this.#options.outside);
    } catch (error) {
      // Such as that of an assertion.
      return errorMessage(error);
    }
  }

  #line(text: string): void {
    this.lines.push(`${((this.#options.server.clock.now() - this.#begin) / 1000).toFixed(1)} s ${text}`);
  }

  #start(): void {
    this.#processes += 1;
    const { server, seed, operator } = this.#options;
    const { clock } = server;
    const dice = createDice(seed, `process ${this.#processes}`);
    // Only what a simulation has: it elects nobody, because there is one process.
    const process = new AbortController();
    this.#process = process;
    const { name, controllers, caches = [] } = operator(this.#disturbedOutside(process));
    const isAllowed = allowedBy(controllers);
    const client = createDisturbedClient({
      client: server.client({ fieldManager: name }),
      clock,
      activity: this.#activity,
      dice,
      faults: () => this.#faults,
      onRequest: () => undefined,
      onWrite: (write, moment) => {
        if (moment === 'before') this.#note(isAllowed(write));
        this.#onWrite(process, write, moment, dice);
      },
      crashed: process.signal,
    });
    const cluster = { client, namespace: 'default', [Symbol.dispose]: () => undefined };
    const running = createOperator({
      name,
      controllers,
      caches,
      cluster,
      clock,
      random: dice.random,
      logger: silentLogger,
    });
    void running.runUntil(process.signal).catch((error: unknown) => {
      if (!process.signal.aborted) this.#reasons.push(`the process ended: ${errorMessage(error)}`);
    });
  }

  /** What a process reaches outside of the cluster, with the faults of requests. */
  #disturbedOutside(process: AbortController): O {
    const { outside, seed } = this.#options;
    const dice = createDice(seed, `outside of process ${this.#processes}`);
    return disturbedOutside(outside, {
      activity: this.#activity,
      dice,
      faults: () => this.#faults,
      crashed: process.signal,
      onCall: (call, moment) => {
        if (moment === 'before') this.#line(`outside: ${call}`);
        this.#mayCrash(process, `${moment} ${call} outside`, dice);
      },
    });
  }

  #onWrite(process: AbortController, write: ObjectWrite, moment: 'before' | 'after', dice: Dice): void {
    if (process !== this.#process || process.signal.aborted) return;
    const { verb, resource } = write;
    if (moment === 'after' && resource.resource !== 'events') this.#writesAtRest?.push(titleOf(write));
    this.#mayCrash(process, `${moment} ${verb} ${resource.resource}`, dice);
  }

  #mayCrash(process: AbortController, when: string, dice: Dice): void {
    if (process !== this.#process || process.signal.aborted) return;
    if (this.#faults === undefined || !dice.chance(this.#faults.crash / 2)) return;
    this.#crash(when);
  }

  /** As SIGKILL: nothing that the process has begun goes on. Another one starts later. */
  #crash(when: string): void {
    this.#line(`the process crashes ${when}`);
    this.#process?.abort(new CrashError('the process has crashed'));
    this.#process = undefined;
  }

  async #pause(): Promise<void> {
    const steps = this.#dice.between(0, MOST_PAUSES);
    for (let i = 0; i < steps; i++) await this.#step();
  }

  async #step(): Promise<void> {
    await this.#activity.step();
    if (this.#process === undefined) this.#start();
  }

  async #until(work: Promise<unknown>): Promise<void> {
    let isDone = false;
    const end = (): void => void (isDone = true);
    work.then(end, end);
    while (!isDone) await this.#step();
    await work;
  }

  async #untilAtRest(): Promise<void> {
    const { clock } = this.#options.server;
    const begin = clock.now();
    while (clock.now() < Math.max(begin, this.#changedMs) + this.#options.quietMs) {
      if (clock.now() > begin + LONGEST_MS) throw new CrashError('the operator still writes after an hour');
      await this.#step();
    }
  }

  async #untilTime(at: Instant): Promise<void> {
    const { clock } = this.#options.server;
    // The clock moves from timer to timer.
    clock.setTimer(at - clock.now(), () => undefined);
    while (clock.now() < at) await this.#step();
  }

  #end(): readonly string[] {
    return endState(this.#world.everything());
  }
}

/** What is wrong with a write: that no controller declares the right to it. Nothing, unless all controllers declare their rights. */
function allowedBy(controllers: OperatorOptions['controllers']): (write: ObjectWrite) => string | undefined {
  if (controllers.some(({ rights }) => rights === undefined)) return () => undefined;
  const rules = merged(controllers.flatMap(({ rights = [] }) => rights));
  return (write) => {
    const { verb, resource } = write;
    const title = resourceOf(write);
    const isAllowed = rules.some(
      ({ apiGroups, resources, verbs }) =>
        apiGroups.includes(resource.group) && resources.includes(title) && verbs.includes(verb),
    );
    return isAllowed || title === 'events'
      ? undefined
      : `no controller declares in \`rights\` that it may ${verb} ${title}`;
  };
}

/** The resource of a write, with its subresource. */
function resourceOf(write: ObjectWrite): string {
  const subresource = 'subresource' in write ? write.subresource : undefined;
  return subresource === undefined ? write.resource.resource : `${write.resource.resource}/${subresource}`;
}

function titleOf(write: ObjectWrite): string {
  const { namespace = '', name = '' } = 'key' in write ? write.key : write.object.metadata;
  return `${write.verb} ${resourceOf(write)} ${namespace === '' ? '' : `${namespace}/`}${name}`;
}

/** Why a simulated process or history ended. */
class CrashError extends Error {
  override readonly name = 'CrashError';
}
