import type { CommandLimits } from '../probes/pod-commands.ts';
import { Slots } from './slots.ts';

const BEGINS = 4;
const NODE = 16;
/** So that a readiness probe goes on beside a liveness probe that does not end. */
const POD = 2;

/** The bounds of one node for the commands of its probes. */
export function commandLimits(): CommandLimits {
  return { begins: new Slots(BEGINS), node: new Slots(NODE), ofPod: () => new Slots(POD) };
}
