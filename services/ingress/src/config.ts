import { LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';

/** The settings of the ingress controller; see docs/conventions.md. */
export interface IngressConfig {
  readonly clusterId: string;
  readonly apiservers: readonly string[];
  readonly tlsDir: string;
  /** Endpoints in this range are not served. */
  readonly controlCidr: string;
  /** The address at which clients reach the proxy, and its ports for HTTP and HTTPS. */
  readonly address: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** Whether the class `gantry` is created as the default class if it is missing. */
  readonly ingressClass: 'create' | 'none';
  /** The folder for HAProxy's files and sockets. It is in memory, because it contains keys. */
  readonly runDir: string;
  /** The folder for the owners of hosts. It outlives the container. */
  readonly stateDir: string;
  readonly logLevel: LogLevel;
}

const PORTS = { min: 1, max: 65_535 };

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readIngressConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): IngressConfig {
  return readConfig(environment, (read) => ({
    clusterId: read.text('GANTRY_CLUSTER_ID', 'gantry'),
    apiservers: read.list('GANTRY_APISERVERS', ['apiserver:6444']),
    tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    controlCidr: read.text('GANTRY_CONTROL_CIDR'),
    address: read.text('GANTRY_INGRESS_ADDRESS', '127.0.0.1'),
    httpPort: read.integer('GANTRY_INGRESS_HTTP_PORT', PORTS, 8080),
    httpsPort: read.integer('GANTRY_INGRESS_HTTPS_PORT', PORTS, 8443),
    ingressClass: read.oneOf('GANTRY_INGRESS_CLASS', ['create', 'none'], 'create'),
    runDir: read.text('GANTRY_RUN_DIR', '/run/gantry'),
    stateDir: read.text('GANTRY_STATE_DIR', '/var/lib/gantry'),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}
