import { type KubeObject, parseApiVersion, type Resource } from '@gantry/objects';
import * as builtIn from '@gantry/objects/generated';
import { startInProcessServer } from '@gantry/apiserver/testing';
import { errorMessage } from '@gantry/base';
import type { Faults } from '@gantry/controller-runtime/testing';
import type { CustomKind, OperatorOptions } from '../index.ts';
import { differences } from './end-state.ts';
import { type CrashFaults, History, type HistoryOptions, type ObjectsReader, type Step } from './history.ts';

/** Options of `simulate`. */
export interface SimulateOptions {
  /** Called for each start of the process, so it must create the controllers anew: what they remember is lost in a crash. */
  readonly operator: () => Pick<OperatorOptions, 'name' | 'controllers' | 'caches'>;
  /** The custom kinds that the server knows. */
  readonly kinds?: readonly CustomKind<KubeObject>[];
  /** Created one after another at times that the seed decides. */
  readonly objects?: readonly KubeObject[];
  /** Done after that, one after another at times that the seed decides. */
  readonly steps?: readonly Step[];
  /** How often each fault happens, as probabilities; `DEFAULT_FAULTS` when absent. */
  readonly faults?: 'none' | Partial<Faults & CrashFaults>;
  /** How many histories, or their seeds; 100 when absent. */
  readonly seeds?: number | readonly number[];
  /** Called after each change of the store with its objects. Returns what is wrong, or undefined; an error counts as its message. */
  readonly invariant?: (objects: ObjectsReader) => string | undefined;
}

/** A history that went wrong. */
export interface FailedHistory {
  readonly seed: number;
  readonly reasons: readonly string[];
  /** The changes of the store and the crashes, in order, with the simulated seconds. */
  readonly history: readonly string[];
}

/** The result of `simulate`. */
export interface SimulationReport {
  readonly histories: number;
  readonly failures: readonly FailedHistory[];
  /** The shortest history that went wrong, as text; '' when none did. */
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
 * `invariant` ever returns something. The same seed gives the same history.
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
export async function simulate(options: SimulateOptions): Promise<SimulationReport> {
  const { seeds = 100, faults = {} } = options;
  const all = typeof seeds === 'number' ? Array.from({ length: seeds }, (_, i) => i + 1) : seeds;
  const expected = await play(options, 0, undefined);
  const failures: FailedHistory[] = expected.reasons.length === 0 ? [] : [{ ...expected, seed: 0 }];
  if (failures.length === 0) {
    for (const seed of all) {
      const played = await play(options, seed, faults === 'none' ? undefined : { ...DEFAULT_FAULTS, ...faults });
      const reasons = [...played.reasons, ...differences(expected.end, played.end)];
      if (reasons.length > 0) failures.push({ seed, reasons, history: played.history });
    }
  }
  const shortest = failures.toSorted((a, b) => a.history.length - b.history.length)[0];
  return { histories: all.length, failures, text: shortest === undefined ? '' : textOf(shortest) };
}

async function play(options: SimulateOptions, seed: number, faults: (Faults & CrashFaults) | undefined) {
  const kinds = options.kinds ?? [];
  const resources = [...Object.values(builtIn), ...kinds];
  const server = await startInProcessServer(
    seed,
    kinds.map(({ definition }) => definition),
  );
  const steps = [
    ...(options.objects ?? []).map(
      (object): Step =>
        (client, signal) => {
          return client.create(resourceOf(object, resources), object, signal);
        },
    ),
    ...(options.steps ?? []),
  ];
  const { operator, invariant } = options;
  const setup: HistoryOptions = { server, seed, resources, steps, operator, faults, invariant };
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

function resourceOf({ apiVersion, kind }: KubeObject, resources: readonly Resource[]): Resource {
  const { group, version } = parseApiVersion(apiVersion);
  const found = resources.find((one) => one.kind === kind && one.group === group && one.version === version);
  if (found === undefined) throw new UnknownKindError(`${apiVersion} ${kind} is unknown: add it to \`kinds\``);
  return found;
}

function textOf({ seed, reasons, history }: FailedHistory): string {
  return [
    `seed ${seed}:`,
    ...reasons.map((reason) => `  ${reason}`),
    'history:',
    ...history.map((line) => `  ${line}`),
  ].join('\n');
}
