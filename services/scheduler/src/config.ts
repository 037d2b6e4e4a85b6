import { LOG_LEVELS, type LeaseTimes, type LogLevel, readConfig, readLeaseTimes } from '@gantry/service';

/** The settings of a scheduler, which come from environment variables. See docs/conventions.md. */
export interface SchedulerConfig extends LeaseTimes {
  readonly apiservers: readonly string[];
  readonly etcd: readonly string[];
  readonly tlsDir: string;
  /** The folder of the client certificate for etcd, which etcd's own certificate authority has signed. */
  readonly etcdTlsDir: string;
  /** Milliseconds without an API server that answers, after which a leader resigns. */
  readonly resignAfterMs: number;
  readonly logLevel: LogLevel;
  /** The name that tells this process from the other schedulers. */
  readonly identity: string;
}

/** Reads the environment once. Throws a ConfigError that names the variable. */
export function readSchedulerConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): SchedulerConfig {
  return readConfig(environment, (read) => ({
    apiservers: read.list('GANTRY_APISERVERS', ['apiserver:6444']),
    etcd: read.list('GANTRY_ETCD'),
    tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    etcdTlsDir: read.text('GANTRY_ETCD_TLS_DIR', '/etc/gantry/etcd'),
    ...readLeaseTimes(read),
    resignAfterMs: read.integer('GANTRY_RESIGN_AFTER_MS', { min: 1000, max: 600_000 }, 10_000),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
    identity: read.text('HOSTNAME', 'scheduler'),
  }));
}
