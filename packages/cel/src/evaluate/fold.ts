import { CelError, CelList, CelMap, type CelResult, type CelValue, isError } from '../values/value.ts';
import { type Frame } from './frame.ts';

/** A planned fold. Numbers are the slots of its variables. */
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

/** Runs a fold until the range ends or its condition is false. */
export function fold(plan: FoldPlan, frame: Frame): CelResult {
  const range = plan.range(frame);
  if (isError(range)) return range;
  if (!(range instanceof CelList) && !(range instanceof CelMap)) {
    return new CelError(`got '${goTypeOf(range)}', expected iterable type`);
  }
  const { locals } = frame;
  locals[plan.accu] = plan.accuInit(frame);
  let index = 0n;
  for (const item of range instanceof CelList ? range : range.keys()) {
    if (plan.second === undefined) locals[plan.first] = item;
    else if (range instanceof CelMap) {
      locals[plan.first] = item;
      locals[plan.second] = range.get(item);
    } else {
      locals[plan.first] = index++;
      locals[plan.second] = item;
    }
    const goesOn = plan.condition(frame);
    if (goesOn !== true) break;
    locals[plan.accu] = plan.step(frame);
  }
  return plan.result(frame);
}
