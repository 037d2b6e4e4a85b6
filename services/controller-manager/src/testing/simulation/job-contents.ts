import type { Dice } from '@gantry/controller-runtime/testing';
import { IMAGES } from './kind-contents.ts';
import { POD_FATE } from './nodes.ts';

/** The pod template of a Job. Some of the Job's pods may fail before one succeeds. */
export function jobTemplate(dice: Dice, name: string): object {
  const annotations = { [POD_FATE.fails]: String(dice.pick([0, 0, 1, 2])) };
  const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: dice.pick(IMAGES) }] };
  return { metadata: { labels: { app: name }, annotations }, spec };
}

/** A number of failures that is larger than any limit. */
const ALWAYS = 99;

/**
 * An Indexed Job with a limit for each index. An index either fails no more often than the limit allows, or it always fails. So pods that
 * are lost with a node do not decide which index fails. Their disruptions are ignored, as the documentation of such limits advises.
 */
export function limitedJob(dice: Dice): object {
  const limit = dice.between(0, 2);
  const fates = Array.from({ length: dice.between(1, 4) }, () => dice.pick([0, 0, limit, ALWAYS]));
  const annotations = { [POD_FATE.indexFails]: fates.join() };
  const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: dice.pick(IMAGES) }] };
  return {
    parallelism: dice.between(1, 3),
    completions: fates.length,
    completionMode: 'Indexed',
    backoffLimitPerIndex: limit,
    // As many indexes as will fail, so that the limit is reached but not exceeded.
    ...(dice.chance(0.5) ? { maxFailedIndexes: fates.filter((fails) => fails === ALWAYS).length } : {}),
    podFailurePolicy: {
      rules: [{ action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] }],
    },
    suspend: dice.chance(0.2),
    template: { metadata: { annotations }, spec },
  };
}
