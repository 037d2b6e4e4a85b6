import type { Clock, Plan } from '@gantry/base';
import { isReason } from '@gantry/objects';
import type { Result } from './controller.ts';

/** The result of a reconcile whose plan was executed: reconcile again at `requeueAt`, if the plan sets it. */
export function resultOf({ requeueAt }: Plan<unknown>, clock: Clock): Result {
  return requeueAt === undefined ? {} : { requeueAfterMs: Math.max(0, requeueAt - clock.now()) };
}

/** Executes a plan's actions one after the other. Rejects with the error of the first action that fails; later actions are skipped. */
export async function carryOut<A>(
  plan: Plan<A>,
  execute: (action: A) => Promise<unknown>,
  clock: Clock,
): Promise<Result> {
  for (const action of plan.actions) await execute(action);
  return resultOf(plan, clock);
}

/** Settles as `work` does, except that a Conflict is not an error: the key is reconciled again after `afterMs`, without back-off. */
export async function lookAgainOnConflict(work: Promise<Result>, afterMs: number): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (isReason(error, 'Conflict')) return { requeueAfterMs: afterMs };
    throw error;
  }
}
