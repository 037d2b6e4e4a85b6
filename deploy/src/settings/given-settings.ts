import { isIPv4 } from 'node:net';
import { parseIpv4Range } from '@gantry/objects';
import { CommandError } from '../machine/command-error.ts';
import { type GivenSettings, NOT_GIVEN } from './choose-settings.ts';

/**
 * Reads GANTRY_HOST_ADDRESS, GANTRY_CLUSTER_CIDR and GANTRY_JOIN_GRPC_PORT. A variable that is not set keeps what an earlier `up` has
 * saved; an empty one takes it back. CommandError for a value that cannot be used.
 */
export function readGivenSettings(environment: Readonly<Record<string, string | undefined>>): Partial<GivenSettings> {
  const hostAddress = environment['GANTRY_HOST_ADDRESS'];
  const clusterCidr = environment['GANTRY_CLUSTER_CIDR'];
  const port = environment['GANTRY_JOIN_GRPC_PORT'];
  if (hostAddress !== undefined && hostAddress !== '' && !isIPv4(hostAddress))
    throw new CommandError(`GANTRY_HOST_ADDRESS: ${JSON.stringify(hostAddress)} is not an IPv4 address`);
  if (clusterCidr !== undefined && clusterCidr !== '' && parseIpv4Range(clusterCidr) === undefined)
    throw new CommandError(`GANTRY_CLUSTER_CIDR: ${JSON.stringify(clusterCidr)} is not an IPv4 range`);
  return {
    ...(hostAddress === undefined ? {} : { hostAddress }),
    ...(clusterCidr === undefined ? {} : { clusterCidr }),
    ...(port === undefined ? {} : { joinGrpcPort: port === '' ? NOT_GIVEN.joinGrpcPort : parsePort(port) }),
  };
}

function parsePort(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new CommandError(`GANTRY_JOIN_GRPC_PORT: ${JSON.stringify(text)} is not a port`);
}
