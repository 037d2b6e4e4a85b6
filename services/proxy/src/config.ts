import { type AddressRange, defaultClusterCidr, isWithin, parseIpv4, parseIpv4Range } from '@gantry/objects';
import { ConfigError, LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';
import { hostRange } from './rules/host-addresses.ts';
import { CLOSED_ADDRESS_RANGES } from './rules/transaction.ts';

/** The settings of a proxy; see docs/conventions.md. */
export interface ProxyConfig {
  readonly clusterId: string;
  /** The API's `https://host:port`, as the host reaches it. */
  readonly server: string;
  /** The port of `server`. */
  readonly apiPort: number;
  readonly tlsDir: string;
  readonly podCidr: string;
  readonly podRange: AddressRange;
  /** The part of `podCidr` whose addresses belong to the host: the addresses of Nodes and of load balancers. */
  readonly ownRange: AddressRange;
  readonly serviceCidr: string;
  readonly podBridge: string;
  /** No Service leads to the control network. */
  readonly controlRange: AddressRange;
  /** The pod ranges of all hosts are parts of this range. */
  readonly clusterRange: AddressRange;
  /** The address at which other hosts reach this one. Empty on a host that reaches no other hosts. */
  readonly hostAddress: string;
  /** The address that serves health and metrics. All clusters share the host's loopback. */
  readonly healthHost: string;
  readonly healthPort: number;
  readonly runDir: string;
  readonly logLevel: LogLevel;
}

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readProxyConfig(environment: Readonly<Record<string, string | undefined>> = process.env): ProxyConfig {
  return readConfig(environment, (read) => {
    const range = (variable: string): AddressRange => {
      const text = read.text(variable);
      const found = parseIpv4Range(text);
      if (found === undefined) throw new ConfigError(variable, `${JSON.stringify(text)} is not an IPv4 range`);
      return found;
    };
    const closed = [range('GANTRY_SERVICE_CIDR'), range('GANTRY_CONTROL_CIDR'), ...CLOSED_ADDRESS_RANGES];
    const clusterRange = clusterRangeOf(read.text('GANTRY_CLUSTER_CIDR', ''), range('GANTRY_POD_CIDR'), () =>
      defaultClusterCidr(read.text('GANTRY_POD_CIDR')),
    );
    return {
      clusterId: clusterId(read.text('GANTRY_CLUSTER_ID')),
      server: read.text('GANTRY_SERVER'),
      apiPort: portOf(read.text('GANTRY_SERVER')),
      tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
      podCidr: read.text('GANTRY_POD_CIDR'),
      ownRange: ownRange(read.text('GANTRY_POD_CIDR')),
      podRange: range('GANTRY_POD_CIDR'),
      serviceCidr: read.text('GANTRY_SERVICE_CIDR'),
      podBridge: interfaceName(read.text('GANTRY_POD_BRIDGE')),
      controlRange: range('GANTRY_CONTROL_CIDR'),
      clusterRange,
      hostAddress: hostAddress(read.text('GANTRY_HOST_ADDRESS', ''), [clusterRange, ...closed]),
      healthHost: read.text('GANTRY_HEALTH_HOST', '127.0.0.1'),
      healthPort: read.integer('GANTRY_HEALTH_PORT', { min: 1, max: 65_535 }, 10_255),
      runDir: read.text('GANTRY_RUN_DIR', '/run/gantry'),
      logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
    };
  });
}

function ownRange(podCidr: string): AddressRange {
  const found = hostRange(podCidr);
  if (found !== undefined) return found;
  throw new ConfigError('GANTRY_POD_CIDR', `${JSON.stringify(podCidr)} is not an IPv4 range from /8 to /28`);
}

/** The configured range, or the default if none is configured. */
function clusterRangeOf(text: string, podRange: AddressRange, defaultCidr: () => string): AddressRange {
  const found = parseIpv4Range(text === '' ? defaultCidr() : text);
  if (found === undefined) throw new ConfigError('GANTRY_CLUSTER_CIDR', `${JSON.stringify(text)} is not an IPv4 range`);
  if (found.first <= podRange.first && podRange.last <= found.last) return found;
  throw new ConfigError('GANTRY_CLUSTER_CIDR', `${JSON.stringify(text)} does not contain GANTRY_POD_CIDR`);
}

function hostAddress(text: string, closed: readonly AddressRange[]): string {
  if (text === '') return text;
  if (parseIpv4(text) === undefined)
    throw new ConfigError('GANTRY_HOST_ADDRESS', `${JSON.stringify(text)} is not an IPv4 address`);
  if (closed.some((range) => isWithin(range, text)))
    throw new ConfigError('GANTRY_HOST_ADDRESS', `other hosts do not reach this one at ${text}`);
  return text;
}

/** The packet filter's table has this name, so it has to be a valid name there too. */
function clusterId(text: string): string {
  if (/^[a-z][a-z0-9-]{0,62}$/.test(text)) return text;
  throw new ConfigError(
    'GANTRY_CLUSTER_ID',
    `${JSON.stringify(text)} is not a name of small letters, digits and hyphens`,
  );
}

function portOf(server: string): number {
  if (!URL.canParse(server)) throw new ConfigError('GANTRY_SERVER', `${JSON.stringify(server)} is not a URL`);
  const { port } = new URL(server);
  return port === '' ? 443 : Number(port);
}

function interfaceName(text: string): string {
  if (/^[a-zA-Z0-9._-]{1,15}$/.test(text)) return text;
  throw new ConfigError('GANTRY_POD_BRIDGE', `${JSON.stringify(text)} is not the name of an interface`);
}
