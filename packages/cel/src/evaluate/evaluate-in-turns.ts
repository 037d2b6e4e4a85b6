import type { Turn } from '@gantry/base';
import type { Bindings, Evaluation, Program } from '../environment/environment.ts';

/** Evaluates in as many turns as it takes. Yields after the evaluation, too, when the turn is over then. */
export function* evaluateInTurns(
  program: Program,
  turn: Turn,
  bindings: Bindings,
): Generator<undefined, Evaluation, undefined> {
  const run = program.begin(bindings);
  for (;;) {
    const result = run.advance(turn);
    if (result === undefined || turn.isOver()) yield;
    if (result !== undefined) return result;
  }
}
