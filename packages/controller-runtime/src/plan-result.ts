import type { Clock, Plan } from '@gantry/base';
import { isReason } from '@gantry/objects';
import type { Result } from './controller.ts';

/** The result of a reconcile whose plan was carried out: look again at `requeueAt`, if the plan names it. */
export function resultOf({ requeueAt }: Plan<unknown>, clock: Clock): Result {
  return requeueAt === undefined ? {} : { requeueAfterMs: Math.max(0, requeueAt - clock.now()) };
}

/** Carries out a plan's actions one after the other; stops at the first that fails. */
export async function carryOut<A>(
  plan: Plan<A>,
  execute: (action: A) => Promise<unknown>,
  clock: Clock,
): Promise<Result> {
  for (const action of plan.actions) await execute(action);
  return resultOf(plan, clock);
}

/** Settles as `work` does, but a Conflict is no failure: the key is reconciled again after `afterMs`, without back-off. */
export async function lookAgainOnConflict(work: Promise<Result>, afterMs: number): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isReason(error, 'Conflict')) return { requeueAfterMs: afterMs };
    throw error;
  }
}
