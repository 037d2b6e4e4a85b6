import { ConfigError, LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';

/** The settings of the console; see docs/conventions.md. */
export interface ConsoleConfig {
  readonly clusterId: string;
  /** URL of the API server, without a path. */
  readonly server: string;
  /** The certificate authority of the API server: all that the console is given. */
  readonly caFile: string;
  /** The origins of its page, as browsers write them: `http://127.0.0.1:8700`. Requests for other hosts are refused. */
  readonly origins: readonly string[];
  /** The built front end. */
  readonly webDir: string;
  readonly idleMinutes: number;
  readonly sessionHours: number;
  readonly logLevel: LogLevel;
}

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readConsoleConfig(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): ConsoleConfig {
  return readConfig(environment, (read) => ({
    clusterId: read.text('GANTRY_CLUSTER_ID', 'gantry'),
    server: serverUrl('GANTRY_SERVER', read.text('GANTRY_SERVER')),
    caFile: read.text('GANTRY_CA_FILE', '/etc/gantry/tls/ca.crt'),
    origins: read
      .list('GANTRY_CONSOLE_ORIGINS', ['http://127.0.0.1:8700', 'http://localhost:8700'])
      .map((text) => origin('GANTRY_CONSOLE_ORIGINS', text)),
    webDir: read.text('GANTRY_CONSOLE_WEB_DIR', '/app/web'),
    idleMinutes: read.integer('GANTRY_CONSOLE_IDLE_MINUTES', { min: 1, max: 1440 }, 60),
    sessionHours: read.integer('GANTRY_CONSOLE_SESSION_HOURS', { min: 1, max: 168 }, 12),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}

function origin(variable: string, text: string): string {
  const url = URL.parse(text);
  if (url !== null && /^https?:$/.test(url.protocol) && url.origin === text) return text;
  throw new ConfigError(variable, `${JSON.stringify(text)} is not an origin such as http://127.0.0.1:8700`);
}

function serverUrl(variable: string, text: string): string {
  const url = URL.parse(text);
  if (url?.protocol === 'https:' && url.pathname === '/' && url.search === '') return url.origin;
  throw new ConfigError(variable, `${JSON.stringify(text)} is not an address such as https://127.0.0.1:6443`);
}
