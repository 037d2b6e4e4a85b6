import { append } from '@gantry/base';
import type { FieldError } from '@gantry/objects';

/** The result of a check: the errors, and the number of matches, by which the closest alternative is chosen. */
export class Result {
  readonly errors: Finding[] = [];
  matches = 0;

  add(finding: Finding): void {
    this.errors.push(finding);
  }

  merge(other: Result): void {
    append(this.errors, other.errors);
    this.matches += other.matches;
  }
}

/** One error. `path` is the path inside the value, '' for the value itself; undefined for the whole. */
export interface Finding {
  readonly type: FieldError['type'];
  readonly path: string | undefined;
  readonly value: unknown;
  readonly detail: string;
}

export function failure(finding: Finding): Result {
  const result = new Result();
  result.add(finding);
  return result;
}

export function invalidFinding(path: string, value: unknown, detail: string): Finding {
  return { type: 'FieldValueInvalid', path, value: value ?? '', detail };
}

export function tooMany(path: string, actual: number, most: number): Finding {
  const noun = most === 1 ? 'item' : 'items';
  const detail = most < 0 ? 'has too many items' : `must have at most ${most} ${noun}`;
  return { type: 'FieldValueTooMany', path, value: actual, detail };
}

export function whole(path: string, detail: string): Finding {
  return { type: 'FieldValueInvalid', path: undefined, value: '', detail: `${JSON.stringify(path)} ${detail}` };
}
