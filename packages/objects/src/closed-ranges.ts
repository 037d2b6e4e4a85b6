/**
 * Addresses of metadata services of clouds: link-local ones, and those of Alibaba Cloud, Azure and Oracle Cloud. What an instance of a
 * cloud may do is read there.
 */
export const METADATA_RANGES: readonly string[] = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
];

/**
 * No Service and no Ingress leads here, whatever its endpoints say: this network, loopback, metadata services with all link-local
 * addresses, and multicast. The API refuses most of these as endpoints too.
 */
export const CLOSED_RANGES: readonly string[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  ...METADATA_RANGES,
  '224.0.0.0/4',
  '240.0.0.0/4',
];
