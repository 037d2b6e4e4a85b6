import { must } from '@gantry/base';
import { CLOSED_RANGES as RANGES } from '@gantry/objects';
import { parseRange } from './ipv4.ts';

/** `CLOSED_RANGES` of `@gantry/objects` as numbers. */
export const CLOSED_RANGES = RANGES.map((text) => must(parseRange(text), `the range ${text}`));
