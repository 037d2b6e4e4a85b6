import { must } from '@gantry/base';
import { parseRange } from './ipv4.ts';

/**
 * No Service leads here, whatever its endpoints say: this network, loopback, link-local addresses with the metadata services of clouds,
 * and multicast. The API refuses most of these as endpoints too.
 */
export const CLOSED_RANGES = ['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'].map((text) =>
  must(parseRange(text), `the range ${text}`),
);
