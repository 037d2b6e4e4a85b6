import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Paths and overlays of a command. */
export interface CommandConfig {
  /** The checkout. */
  readonly root: string;
  /** Settings, kubeconfig and build products of one cluster. GANTRY_HOME, default `.gantry` in the checkout. */
  readonly home: string;
  /** Whether `home` is the default one. Its settings are linked as `.env` for plain `docker compose`. */
  readonly homeKind: 'checkout' | 'elsewhere';
  /** Additional Compose overlays, such as `light`. */
  readonly overlays: readonly string[];
}

/** Reads GANTRY_HOME and GANTRY_OVERLAYS. */
export function readCommandConfig(environment: Readonly<Record<string, string | undefined>>): CommandConfig {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
  const own = resolve(root, '.gantry');
  const home = resolve(environment['GANTRY_HOME'] ?? own);
  const overlays = (environment['GANTRY_OVERLAYS'] ?? '').split(',').filter((name) => name !== '');
  return Object.freeze({ root, home, homeKind: home === own ? 'checkout' : 'elsewhere', overlays });
}

/** The folder in which the user ran the command. npm runs it in the checkout. */
export function invokedIn(environment: Readonly<Record<string, string | undefined>>): string {
  return environment['INIT_CWD'] ?? process.cwd();
}

/** The environment of child processes. */
export function inheritedEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
