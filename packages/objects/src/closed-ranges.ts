/**
 * Addresses of cloud metadata services: link-local ones, and those of Alibaba Cloud, Azure and Oracle Cloud. Credentials of the cloud
 * instance can be read there.
 */
export const METADATA_RANGES: readonly string[] = [
  '169.254.0.0/16',
  '100.100.100.200/32',
  '168.63.129.16/32',
  '192.0.0.192/32',
];

/**
 * Ranges that no Service and no Ingress forwards to, whatever its endpoints are: this network, loopback, link-local with metadata services,
 * and multicast. The API rejects most of these as endpoints too.
 */
export const CLOSED_RANGES: readonly string[] = [
  '0.0.0.0/8',
  '127.0.0.0/8',
  ...METADATA_RANGES,
  '224.0.0.0/4',
  '240.0.0.0/4',
];
