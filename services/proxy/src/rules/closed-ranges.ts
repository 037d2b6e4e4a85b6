import { must } from '@gantry/base';
import { parseRange } from './ipv4.ts';

/** Metadata services of clouds beside those with a link-local address: of Alibaba Cloud, Azure and Oracle Cloud. */
const METADATA = ['100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32'];

/**
 * No Service leads here, whatever its endpoints say: this network, loopback, link-local addresses and others of metadata services, and
 * multicast. The API refuses most of these as endpoints too.
 */
export const CLOSED_RANGES = [
  ...['0.0.0.0/8', '127.0.0.0/8', '169.254.0.0/16', '224.0.0.0/4', '240.0.0.0/4'],
  ...METADATA,
].map((text) => must(parseRange(text), `the range ${text}`));
