import type { Clock } from '@gantry/base';
import { Slots } from './slots.ts';

/** A start that hangs, in a volume of the network or a hook of the engine, gives its slot to others then. */
const MAX_START_MS = 10_000;

/** Slots for starts of containers, `count` at once. */
export function startSlots(count: number, clock: Clock): Slots {
  return new Slots(count, { clock, maxHeldMs: MAX_START_MS });
}
