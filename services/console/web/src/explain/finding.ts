/** A sentence about an object, with what it is drawn from. */
export interface Finding {
  readonly tone: 'good' | 'waiting' | 'bad' | 'none';
  readonly text: string;
  /** More about it, one line each. */
  readonly details?: readonly string[];
}

/** `1 pod`, `2 pods`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
