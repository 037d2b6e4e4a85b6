import { interPodAffinity } from './filter/inter-pod-affinity.ts';
import { nodeAffinity } from './filter/node-affinity.ts';
import { nodeDeclaredFeatures } from './filter/node-declared-features.ts';
import { nodePorts } from './filter/node-ports.ts';
import { nodeUnschedulable } from './filter/node-unschedulable.ts';
import { resourceFit } from './filter/resource-fit.ts';
import { topologySpread } from './filter/topology-spread.ts';
import { taintToleration } from './filter/taint-toleration.ts';
import { volumeBinding } from './filter/volume-binding.ts';
import { volumeRestrictions } from './filter/volume-restrictions.ts';
import type { FilterPlugin, ScorePlugin } from '../framework/plugin.ts';
import { balancedAllocation } from './score/balanced-allocation.ts';
import { evenSpread } from './score/even-spread.ts';
import { imageLocality } from './score/image-locality.ts';
import { leastAllocated } from './score/least-allocated.ts';
import { preferNeighbours } from './score/prefer-neighbours.ts';
import { preferNodes } from './score/prefer-nodes.ts';
import { preferUntainted } from './score/prefer-untainted.ts';

/** The filters in the order in which they run. The first one that excludes a node gives the reason. */
export const FILTERS: readonly FilterPlugin[] = [
  nodeUnschedulable,
  taintToleration,
  nodeAffinity,
  nodePorts,
  resourceFit,
  volumeRestrictions,
  volumeBinding,
  topologySpread,
  interPodAffinity,
  nodeDeclaredFeatures,
];

export const SCORES: readonly ScorePlugin[] = [
  preferUntainted,
  evenSpread,
  preferNeighbours,
  preferNodes,
  leastAllocated,
  balancedAllocation,
  imageLocality,
];
