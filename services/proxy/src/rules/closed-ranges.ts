import { must } from '@gantry/base';
import { CLOSED_RANGES as RANGES, parseIpv4Range } from '@gantry/objects';

/** `CLOSED_RANGES` of `@gantry/objects` as numbers. */
export const CLOSED_RANGES = RANGES.map((text) => must(parseIpv4Range(text), `the range ${text}`));
