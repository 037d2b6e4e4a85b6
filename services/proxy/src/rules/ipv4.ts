import { type AddressRange, isWithin, parseIpv4, parseIpv4Range } from '@gantry/objects';

export type Range = AddressRange;
export const contains = isWithin;
export const parseAddress = parseIpv4;
export const parseRange = parseIpv4Range;
