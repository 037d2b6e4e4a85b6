import type { KubeObject } from '@gantry/objects';
import type { World } from '../world.ts';
import { autoscalerInvariant } from './autoscalers.ts';
import { budgetInvariant } from './budgets.ts';
import { daemonInvariant } from './daemons.ts';
import { addressInvariant, endpointInvariant } from './endpoints.ts';
import type { Invariant } from './invariant.ts';
import { indexLimitInvariant } from './job-indexes.ts';
import { jobCountInvariant, scheduleInvariant } from './jobs.ts';
import { foregroundInvariant, ownerInvariant } from './owners.ts';
import { podLifeInvariant, podRemovalInvariant } from './pods.ts';
import { quotaInvariant } from './quotas.ts';
import { rolloutInvariant } from './rollouts.ts';
import { volumeInvariant } from './volumes.ts';

/** What invariants have to know but cannot read from objects. */
interface Background {
  /** The time in the simulation, in Unix milliseconds. */
  readonly now: () => number;
  readonly isLost: (node: string) => boolean;
  readonly isDeletedByUser: (object: KubeObject) => boolean;
}

/** Watches a world from its beginning, and reports each violation with the name of its invariant. */
export function watchInvariants(
  world: World,
  { now, isLost, isDeletedByUser }: Background,
  report: (violation: string) => void,
): void {
  const invariants: readonly Invariant[] = [
    podLifeInvariant,
    podRemovalInvariant(isLost),
    rolloutInvariant,
    jobCountInvariant,
    indexLimitInvariant,
    scheduleInvariant,
    daemonInvariant,
    budgetInvariant,
    quotaInvariant,
    ownerInvariant(isDeletedByUser),
    foregroundInvariant,
    autoscalerInvariant,
    addressInvariant,
    endpointInvariant(now),
    volumeInvariant,
  ];
  for (const { name, watch } of invariants) watch(world, (violation) => report(`${name}: ${violation}`));
}
