import type { Clock } from '@gantry/base';
import type { CommandLimits } from '../probes/pod-commands.ts';
import { Slots } from './slots.ts';

const BEGINS = 4;
/** A command that runs longer lets the next one begin: the commands of one pod must not hold up the probes of all others. */
const MAX_TURN_MS = 1_000;
const NODE = 16;
/** One that runs longer gives its place on the node to others: those of a few pods must not hold all places until their timeouts. */
const MAX_PLACE_MS = 30_000;
/** So that a readiness probe goes on beside a liveness probe that does not end. */
const POD = 2;

/** The bounds of one node for the commands of its probes. */
export function commandLimits(clock: Clock): CommandLimits {
  return {
    begins: new Slots(BEGINS, { clock, maxHeldMs: MAX_TURN_MS }),
    node: new Slots(NODE, { clock, maxHeldMs: MAX_PLACE_MS }),
    ofPod: () => new Slots(POD),
  };
}
