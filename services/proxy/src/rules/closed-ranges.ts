import { must } from '@gantry/base';
import { CLOSED_RANGES, parseIpv4Range } from '@gantry/objects';

/** `CLOSED_RANGES` of `@gantry/objects` as numbers. */
export const CLOSED_ADDRESS_RANGES = CLOSED_RANGES.map((text) => must(parseIpv4Range(text), `the range ${text}`));
