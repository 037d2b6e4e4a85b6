import { type KubeObject, parseApiVersion, type Resource } from '@gantry/objects';
import * as builtIn from '@gantry/objects/generated';
import { startInProcessServer } from '@gantry/apiserver/testing';
import { errorMessage } from '@gantry/base';
import type { Faults } from '@gantry/controller-runtime/testing';
import { type CustomKind, OptionsError, type OperatorOptions } from '../index.ts';
import { differences } from './end-state.ts';
import type { Actor } from './actors.ts';
import { calledWebhooks } from './called-webhooks.ts';
import { type Check, type CrashFaults, History, type HistoryOptions, type Step } from './history.ts';

/** Options of `simulate`. */
export interface SimulateOptions<O = undefined> {
  /**
   * Called for each start of the process, so it must create the controllers anew: what they remember is lost in a crash. It gets what is
   * outside of the cluster, whose methods fail, lose their answers and crash the process as requests to the API server do; they return promises.
   */
  readonly operator: (outside: O) => Pick<OperatorOptions, 'name' | 'controllers' | 'caches' | 'webhooks'>;
  /** Makes what is outside of the cluster, anew for each history. Steps and checks get it without faults. */
  readonly outside?: () => O;
  /** The custom kinds that the server knows. */
  readonly kinds?: readonly CustomKind<KubeObject>[];
  /** Created one after another at times that the seed decides. Literals may have any fields: the API server validates them. */
  readonly objects?: readonly (KubeObject | (KubeObject & Readonly<Record<string, unknown>>))[];
  /** Done after that, one after another at times that the seed decides. */
  readonly steps?: readonly Step<O>[];
  /** How often each fault happens, as probabilities; `DEFAULT_FAULTS` when absent. */
  readonly faults?: 'none' | Partial<Faults & CrashFaults>;
  /** How many histories, or their seeds; 100 when absent. */
  readonly seeds?: number | readonly number[];
  /**
   * A history is at rest when nothing has changed for this many milliseconds: more than the longest time for which the operator waits. 120,000
   * when absent, which is longer than the back-off of a failing key.
   */
  readonly quietMs?: number;
  /**
   * For an operator that acts at times and so never comes to rest: each history takes this many simulated milliseconds in which faults happen,
   * and `quietMs` without. Ends are not compared; `invariant` and `atEnd` say what is wrong.
   */
  readonly runForMs?: number;
  /** What other controllers and the kubelets do, such as `runJobs()`. */
  readonly actors?: readonly Actor[];
  /** Called after each change of the store with its objects. */
  readonly invariant?: Check<O>;
  /** Called at the end of each history. */
  readonly atEnd?: Check<O>;
}

/** A history that went wrong. */
export interface FailedHistory {
  readonly seed: number;
  /** The faults without which it does not go wrong; all that were given when it has not been shortened. */
  readonly faults: Partial<Faults & CrashFaults>;
  readonly reasons: readonly string[];
  /** The changes of the store and the crashes, in order, with the simulated seconds. */
  readonly history: readonly string[];
}

/** The result of `simulate`. */
export interface SimulationReport {
  readonly histories: number;
  readonly failures: readonly FailedHistory[];
  /**
   * The shortest history that went wrong, as text; '' when none did. It has been repeated with fewer faults as long as it went wrong.
   */
  readonly text: string;
}

/** The faults of a bad network and a process that crashes now and then. */
export const DEFAULT_FAULTS: Faults & CrashFaults = {
  requestFails: 0.05,
  answerLost: 0.05,
  watchBreaks: 0.05,
  historyLost: 0.02,
  viewLate: 0.3,
  repeated: 0.1,
  lateMs: 5000,
  crash: 0.05,
};

/**
 * Runs histories of an operator on an in-memory API server with a simulated clock: that of Gantry, with its validation, defaults, versions,
 * conflicts, server-side apply, finalizers and watches. In each history, requests fail, answers are lost, watches break off, arrive late or
 * repeat events, and the process crashes at writes, as its seed decides. Then the faults end. A history has failed if its end differs from
 * that of the history without faults, if the operator still writes when nothing changes any more, if a new process writes at that end, or if
 * `invariant` ever returns something. The same seed gives the same history. With `runForMs`, only `invariant` and `atEnd` decide.
 *
 * @example
 * ```ts
 * import { simulate } from '@gantry/operator/testing';
 *
 * test('ends in the same state in every history', async () => {
 *   const operator = () => ({ name: 'backups', controllers: [backups()] });
 *   const report = await simulate({ operator, kinds: [BACKUPS], objects: [BACKUP], seeds: 200 });
 *   expect(report.text).toBe('');
 * });
 * ```
 */
export async function simulate<O = undefined>(options: SimulateOptions<O>): Promise<SimulationReport> {
  const { seeds = 100, runForMs } = options;
  if (runForMs !== undefined && !(runForMs > 0)) throw new OptionsError('runForMs: must be more than 0');
  if (runForMs !== undefined && options.invariant === undefined && options.atEnd === undefined)
    throw new OptionsError('runForMs: no ends are compared, so `invariant` or `atEnd` is needed');
  const all = typeof seeds === 'number' ? Array.from({ length: seeds }, (_, i) => i + 1) : seeds;
  const given = options.faults === 'none' ? {} : { ...DEFAULT_FAULTS, ...options.faults };
  const expected = await play(options, 0, {});
  const failures: FailedHistory[] = expected.reasons.length === 0 ? [] : [{ ...expected, seed: 0, faults: {} }];
  if (failures.length === 0) {
    for (const seed of all) {
      const failed = await playAgainst(options, expected.end, seed, given);
      if (failed !== undefined) failures.push(failed);
    }
  }
  const [first] = failures.toSorted(byLength);
  const text = first === undefined ? '' : textOf(await shortened(options, expected.end, first));
  return { histories: all.length, failures, text };
}

async function playAgainst<O>(
  options: SimulateOptions<O>,
  expected: readonly string[],
  seed: number,
  faults: Partial<Faults & CrashFaults>,
): Promise<FailedHistory | undefined> {
  const { reasons, end, history } = await play(options, seed, faults);
  const all = [...reasons, ...differences(expected, end)];
  return all.length === 0 ? undefined : { seed, faults, reasons: all, history };
}

/** Leaves out one kind of fault after the other, if the same seed still goes wrong without it, and in no more steps. */
async function shortened<O>(
  options: SimulateOptions<O>,
  expected: readonly string[],
  failed: FailedHistory,
): Promise<FailedHistory> {
  let shortest = failed;
  for (const fault of FAULTS) {
    if (!(fault in shortest.faults)) continue;
    const { [fault]: _, ...fewer } = shortest.faults;
    const again = await playAgainst(options, expected, failed.seed, fewer);
    if (again !== undefined && again.history.length <= shortest.history.length) shortest = again;
  }
  return shortest;
}

/** Those that are made with a probability. */
const FAULTS = Object.keys(DEFAULT_FAULTS).filter((fault) => fault !== 'lateMs') as (keyof typeof DEFAULT_FAULTS)[];
const NO_FAULTS = {
  ...Object.fromEntries(FAULTS.map((fault) => [fault, 0])),
  lateMs: DEFAULT_FAULTS.lateMs,
} as Faults & CrashFaults;
const DEFAULT_QUIET_MS = 120_000;

function byLength(a: FailedHistory, b: FailedHistory): number {
  return a.history.length - b.history.length;
}

async function play<O>(options: SimulateOptions<O>, seed: number, given: Partial<Faults & CrashFaults>) {
  const faults = Object.keys(given).length === 0 ? undefined : { ...NO_FAULTS, ...given };
  const kinds = options.kinds ?? [];
  const resources = [...Object.values(builtIn), ...kinds];
  // Without `outside`, its type is undefined.
  const outside = options.outside?.() as O;
  const called = calledWebhooks(options.operator(outside));
  const server = await startInProcessServer(
    seed,
    kinds.map(({ definition }) => called?.definitions.get(definition.metadata.name ?? '') ?? definition),
    called?.caller,
  );
  const steps = [
    ...(options.objects ?? []).map(
      (object): Step<O> =>
        (client, signal) => {
          return client.create(resourceOf(object, resources), object, signal);
        },
    ),
    ...(options.steps ?? []),
  ];
  const { operator, invariant, atEnd, runForMs, actors = [], quietMs = DEFAULT_QUIET_MS } = options;
  const checks = { invariant, atEnd, quietMs, runForMs };
  const setup: HistoryOptions<O> = {
    server,
    seed,
    resources,
    steps,
    operator,
    outside,
    faults,
    actors,
    ...checks,
    configurations: called?.configurations ?? [],
  };
  const history = new History(setup);
  try {
    return await history.play();
  } catch (error) {
    return { reasons: [errorMessage(error)], end: [], history: history.lines };
  } finally {
    await history.stop();
  }
}

/** Thrown for an object of a kind that the simulated server does not know. */
export class UnknownKindError extends Error {
  override readonly name = 'UnknownKindError';
}

function resourceOf(
  { apiVersion, kind }: KubeObject,
  resources: readonly (Resource | CustomKind<KubeObject>)[],
): Resource {
  const { group, version } = parseApiVersion(apiVersion);
  const found = resources.find((one) => one.kind === kind && one.group === group && versionsOf(one).includes(version));
  if (found === undefined) throw new UnknownKindError(`${apiVersion} ${kind} is unknown: add it to \`kinds\``);
  return { ...found, version };
}

function versionsOf(of: Resource | CustomKind<KubeObject>): readonly string[] {
  return 'definition' in of ? of.definition.spec.versions.map(({ name }) => name) : [of.version];
}

function textOf({ seed, faults, reasons, history }: FailedHistory): string {
  const named = FAULTS.filter((fault) => (faults[fault] ?? 0) > 0);
  return [
    `seed ${seed}${named.length === 0 ? '' : `, with ${named.join(', ')}`}:`,
    ...reasons.map((reason) => `  ${reason}`),
    'history:',
    ...history.map((line) => `  ${line}`),
  ].join('\n');
}
