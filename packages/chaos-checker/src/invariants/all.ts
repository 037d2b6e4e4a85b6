import { epochsIncrease } from './i01-epochs-increase.ts';
import { noStaleWrites } from './i02-no-stale-writes.ts';
import { agentsObey } from './i03-agents-obey.ts';
import { oneBelievesToLead } from './i04-one-believes-to-lead.ts';
import { freshCacheBinds } from './i05-fresh-cache-binds.ts';
import { takeoverInTime } from './i06-takeover-in-time.ts';
import { nodeNameSetOnce } from './i07-node-name-set-once.ts';
import { oneContainerSet } from './i08-one-container-set.ts';
import { oneOrdinal } from './i09-one-ordinal.ts';
import { noOrphansNoGhosts } from './i10-no-orphans-no-ghosts.ts';
import { podsOnlyAdvance } from './i11-pods-only-advance.ts';
import { agentsKeepContainers } from './i12-agents-keep-containers.ts';
import { onlyAgentsRemovePods } from './i13-only-agents-remove-pods.ts';
import { rolloutsKeepBudgets } from './i14-rollouts-keep-budgets.ts';
import { steadyControllers } from './i15-steady-controllers.ts';
import { jobsCountOnce } from './i16-jobs-count-once.ts';
import { oneDaemonANode } from './i17-one-daemon-a-node.ts';
import { evictionsKeepBudgets } from './i18-evictions-keep-budgets.ts';
import { quotasHold } from './i19-quotas-hold.ts';
import { garbageCollection } from './i20-garbage-collection.ts';
import { endState } from './i21-end-state.ts';
import { nodesNotOvercommitted } from './i22-nodes-not-overcommitted.ts';
import { feasiblePodsBound } from './i23-feasible-pods-bound.ts';
import { placementRules } from './i24-placement-rules.ts';
import { linearizable } from './i25-linearizable.ts';
import { noBlindOverwrites } from './i32-no-blind-overwrites.ts';
import { acknowledgedWritesSurvive } from './i33-acknowledged-writes-survive.ts';
import { noDeadEndpoints } from './i34-no-dead-endpoints.ts';
import { addressesOnce } from './i35-addresses-once.ts';
import type { Invariant } from './invariant.ts';
import {
  watchesAtomic,
  watchesBookmarkable,
  watchesOrdered,
  watchesReliable,
  watchesResumable,
  watchesUnique,
} from './watches.ts';

/** I1 to I35. */
export const INVARIANTS: readonly Invariant[] = [
  epochsIncrease,
  noStaleWrites,
  agentsObey,
  oneBelievesToLead,
  freshCacheBinds,
  takeoverInTime,
  nodeNameSetOnce,
  oneContainerSet,
  oneOrdinal,
  noOrphansNoGhosts,
  podsOnlyAdvance,
  agentsKeepContainers,
  onlyAgentsRemovePods,
  rolloutsKeepBudgets,
  steadyControllers,
  jobsCountOnce,
  oneDaemonANode,
  evictionsKeepBudgets,
  quotasHold,
  garbageCollection,
  endState,
  nodesNotOvercommitted,
  feasiblePodsBound,
  placementRules,
  linearizable,
  watchesOrdered,
  watchesUnique,
  watchesAtomic,
  watchesReliable,
  watchesResumable,
  watchesBookmarkable,
  noBlindOverwrites,
  acknowledgedWritesSurvive,
  noDeadEndpoints,
  addressesOnce,
];
