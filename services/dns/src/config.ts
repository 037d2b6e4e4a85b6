import { LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';

/** The settings of a DNS process; see docs/conventions.md. */
export interface DnsConfig {
  readonly apiservers: readonly string[];
  readonly tlsDir: string;
  readonly serviceCidr: string;
  readonly podCidr: string;
  /** The resolv.conf of the engine's host. */
  readonly hostResolvConf: string;
  readonly logLevel: LogLevel;
}

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readDnsConfig(environment: Readonly<Record<string, string | undefined>> = process.env): DnsConfig {
  return readConfig(environment, (read) => ({
    apiservers: read.list('GANTRY_APISERVERS', ['apiserver:6444']),
    tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    serviceCidr: read.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16'),
    podCidr: read.text('GANTRY_POD_CIDR'),
    hostResolvConf: read.text('GANTRY_HOST_RESOLV_CONF', '/etc/gantry/resolv.conf'),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}
