import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { variablesIn } from './settings/settings-file.ts';

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

/** Reads GANTRY_HOME and GANTRY_OVERLAYS. Overlays that are not given are those of the last `up`; an empty value means none. */
export function readCommandConfig(environment: Readonly<Record<string, string | undefined>>): CommandConfig {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../..');
  const own = resolve(root, '.gantry');
  const home = resolve(environment['GANTRY_HOME'] ?? own);
  const overlays = (environment['GANTRY_OVERLAYS'] ?? storedOverlays(home)).split(',').filter((name) => name !== '');
  return Object.freeze({ root, home, homeKind: home === own ? 'checkout' : 'elsewhere', overlays });
}

function storedOverlays(home: string): string {
  const file = join(home, 'env');
  if (!existsSync(file)) return '';
  return variablesIn(readFileSync(file, 'utf8'))['GANTRY_OVERLAYS'] ?? '';
}

/** A path to show: relative to the checkout if it is inside. Pictures and reports are shown on other machines. */
export function shownPath({ root }: Pick<CommandConfig, 'root'>, path: string): string {
  return path.startsWith(join(root, '/')) ? relative(root, path) : path;
}

/** The folder in which the user ran the command. npm runs it in the checkout. */
export function invokedIn(environment: Readonly<Record<string, string | undefined>>): string {
  return environment['INIT_CWD'] ?? process.cwd();
}

/** The environment of child processes. */
export function inheritedEnvironment(): Readonly<Record<string, string | undefined>> {
  return process.env;
}
