import { defaultClusterCidr, parseIpv4Range } from '@gantry/objects';
import { ConfigError, LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';

/** The settings of a DNS process; see docs/conventions.md. */
export interface DnsConfig {
  readonly apiservers: readonly string[];
  readonly tlsDir: string;
  /** The range of this host's pods. It contains this server's address. */
  readonly podCidr: string;
  /** The ranges whose reverse names this server answers: the Service range and the pod ranges of all hosts. */
  readonly reverseCidrs: readonly string[];
  /** The resolv.conf of the engine's host. */
  readonly hostResolvConf: string;
  readonly logLevel: LogLevel;
}

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readDnsConfig(environment: Readonly<Record<string, string | undefined>> = process.env): DnsConfig {
  return readConfig(environment, (read) => ({
    apiservers: read.list('GANTRY_APISERVERS', ['apiserver:6444']),
    tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    podCidr: cidr('GANTRY_POD_CIDR', read.text('GANTRY_POD_CIDR')),
    reverseCidrs: [
      cidr('GANTRY_SERVICE_CIDR', read.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16')),
      clusterCidr(read.text('GANTRY_CLUSTER_CIDR', ''), read.text('GANTRY_POD_CIDR')),
    ],
    hostResolvConf: read.text('GANTRY_HOST_RESOLV_CONF', '/etc/gantry/resolv.conf'),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}

function cidr(variable: string, text: string): string {
  if (parseIpv4Range(text) !== undefined) return text;
  throw new ConfigError(variable, `${JSON.stringify(text)} is not an IPv4 range`);
}

function clusterCidr(text: string, podCidr: string): string {
  const variable = 'GANTRY_CLUSTER_CIDR';
  const chosen = cidr(variable, text === '' ? defaultClusterCidr(podCidr) : text);
  const [range, pods] = [parseIpv4Range(chosen), parseIpv4Range(podCidr)];
  if (range !== undefined && pods !== undefined && range.first <= pods.first && pods.last <= range.last) return chosen;
  throw new ConfigError(variable, `${JSON.stringify(text)} does not contain GANTRY_POD_CIDR`);
}
