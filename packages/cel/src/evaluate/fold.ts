import { CelError, CelList, CelMap, type CelResult, type CelValue, isError } from '../values/value.ts';
import { type Frame, type Scope, Suspended } from './frame.ts';

/** A planned fold. Its numbers are slots of variables. */
export interface FoldPlan {
  readonly range: (frame: Frame) => CelResult;
  readonly accuInit: (frame: Frame) => CelResult;
  readonly condition: (frame: Frame) => CelResult;
  readonly step: (frame: Frame) => CelResult;
  readonly result: (frame: Frame) => CelResult;
  readonly accu: number;
  readonly first: number;
  readonly second: number | undefined;
}

/** Go's name for the type of a value, for the error about a range. */
function goTypeOf(value: CelValue): string {
  if (value === null) return 'types.Null';
  const names: Readonly<Record<string, string>> = {
    bigint: 'types.Int',
    number: 'types.Double',
    boolean: 'types.Bool',
    string: 'types.String',
  };
  return names[typeof value] ?? 'types.Value';
}

/** The progress of a fold before an item, with the scope of that item. */
interface Progress {
  readonly range: CelList | CelMap;
  readonly items: Iterator<CelValue>;
  item: IteratorResult<CelValue>;
  index: bigint;
  accu: CelResult;
  cost: number;
  scope: Scope | undefined;
}

/** Runs a fold until the range ends or its condition is false. Throws Suspended. */
export function fold(plan: FoldPlan, frame: Frame): CelResult {
  const known = frame.recall(plan);
  if (known !== undefined) return known;
  const startedAt = frame.now();
  const left = frame.progressOf(plan) as Progress | undefined;
  const progress = left ?? begin(plan, frame);
  if (isError(progress)) return progress;
  const outer = frame.enter(progress.scope, progress.cost);
  try {
    runItems(plan, frame, progress);
  } catch (error) {
    progress.scope = frame.enter(outer);
    if (error instanceof Suspended) frame.keepProgress(plan, progress);
    throw error;
  }
  frame.enter(outer);
  return frame.keep(plan, startedAt, plan.result(frame));
}

function begin(plan: FoldPlan, frame: Frame): Progress | CelError {
  const range = plan.range(frame);
  if (isError(range)) return range;
  if (!(range instanceof CelList) && !(range instanceof CelMap)) {
    return new CelError(`got '${goTypeOf(range)}', expected iterable type`);
  }
  const accu = plan.accuInit(frame);
  const items = (range instanceof CelList ? range : range.keys())[Symbol.iterator]();
  return { range, items, item: items.next(), index: 0n, accu, cost: frame.cost, scope: undefined };
}

function runItems(plan: FoldPlan, frame: Frame, progress: Progress): void {
  const { range, items } = progress;
  const { locals } = frame;
  locals[plan.accu] = progress.accu;
  while (progress.item.done !== true) {
    const item = progress.item.value;
    if (plan.second === undefined) locals[plan.first] = item;
    else if (range instanceof CelMap) {
      locals[plan.first] = item;
      locals[plan.second] = range.get(item);
    } else {
      locals[plan.first] = progress.index;
      locals[plan.second] = item;
    }
    if (plan.condition(frame) !== true) return;
    progress.accu = plan.step(frame);
    locals[plan.accu] = progress.accu;
    progress.item = items.next();
    progress.index++;
    progress.cost = frame.cost;
    frame.enter(undefined);
    frame.suspendWhenOver();
  }
}
