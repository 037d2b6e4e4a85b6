import { must, seededRandom } from '@gantry/base';

/**
 * Random choices that can be repeated. Each part of a simulation has dice of its own, so that a change of one part does not change the
 * choices of the others.
 */
export interface Dice {
  readonly random: () => number;
  /** True with this probability. */
  readonly chance: (probability: number) => boolean;
  /** An integer from `from` to `to`, both included. */
  readonly between: (from: number, to: number) => number;
  readonly pick: <T>(of: readonly T[]) => T;
}

/** Creates the dice for one part of the run with this seed. */
export function createDice(seed: number, part: string): Dice {
  let mixed = seed >>> 0;
  for (const character of part) mixed = (Math.imul(mixed, 31) + character.charCodeAt(0)) >>> 0;
  const random = seededRandom(mixed);
  const between = (from: number, to: number): number => from + Math.floor(random() * (to - from + 1));
  return {
    random,
    chance: (probability) => random() < probability,
    between,
    pick: (of) => must(of[between(0, of.length - 1)], 'something to pick from'),
  };
}
