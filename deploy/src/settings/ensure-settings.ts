import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { settingsFileOf } from '../cluster/compose.ts';
import type { ServiceImages } from '../cluster/service-image.ts';
import type { CommandConfig } from '../config.ts';
import { checkSettings } from './check-settings.ts';
import { readInUse } from './in-use.ts';
import { CommandError } from '../machine/command-error.ts';
import { replaceFile } from '../machine/replace-file.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import {
  chooseSettings,
  type GivenSettings,
  misplaced,
  namesOf,
  type Network,
  networksOf,
  PORT_SETTINGS,
  refreshSettings,
  type Settings,
} from './choose-settings.ts';
import { formatMembers, storedMembers } from './member-settings.ts';
import { formatSettings, parseSettings, variablesIn } from './settings-file.ts';

/** The stored settings of this cluster, or undefined before its first `up`. */
export function readSettings(config: CommandConfig): Settings | undefined {
  const file = settingsFileOf(config);
  return existsSync(file) ? parseSettings(readFileSync(file, 'utf8')) : undefined;
}

/** The stored settings of this cluster. CommandError before its first `up`. */
export function mustReadSettings(config: CommandConfig): Settings {
  const settings = readSettings(config);
  if (settings === undefined) throw new CommandError('no cluster was started here', 'start one: npm run up');
  return settings;
}

/**
 * Settings without conflicts on this machine. Those of a running cluster are kept, except for the given ones. Networks that an earlier
 * cluster of the folder has left are used again, or removed. CommandError if they cannot be removed, and for settings that contradict each
 * other.
 */
export async function ensureSettings(
  config: CommandConfig,
  shell: Shell,
  given: Partial<GivenSettings>,
): Promise<Settings> {
  const stored = readSettings(config);
  const names = stored ?? namesOf(config.home);
  const project = `label=com.docker.compose.project=${names.clusterId}`;
  const running = (await mustRun(shell, 'docker', ['ps', '-q', '--filter', project])) !== '';
  const { control, pods } = networksOf(names.clusterId);
  const inUse = await readInUse(shell, {
    clusterId: names.clusterId,
    networks: [control, pods],
    bridges: [names.controlBridge, names.podBridge],
    ports: running && stored !== undefined ? PORT_SETTINGS.map((name) => stored[name]) : [],
  });
  const settings =
    stored === undefined
      ? await chooseSettings(config.home, inUse, given)
      : await refreshSettings({ ...stored, ...given }, config.home, inUse);
  checkSettings(settings);
  for (const network of misplaced(settings, inUse)) await removeNetwork(network, shell);
  return settings;
}

async function removeNetwork({ name, subnets }: Network, shell: Shell): Promise<void> {
  const { code, stderr } = await shell.run('docker', ['network', 'rm', name]);
  if (code === 0) return;
  throw new CommandError(
    `the network ${name} of an earlier cluster has the range ${subnets.join(', ')}, which is in use by others now, and cannot be removed: ${stderr.trim()}`,
    `disconnect what uses it (docker network inspect ${name}), then: docker network rm ${name}`,
  );
}

/**
 * Writes the settings and overlays for Compose, with the engine's root folder on its host, and links them as `.env` for plain
 * `docker compose` in the checkout. Other variables that the user has added stay.
 */
export function storeSettings(
  config: CommandConfig,
  settings: Settings,
  images: ServiceImages,
  engineRoot: string,
): void {
  mkdirSync(config.home, { recursive: true });
  const file = settingsFileOf(config);
  const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
  const stored = variablesIn(before);
  const text = formatSettings(settings, {
    ...stored,
    ...formatMembers(storedMembers(stored, config.overlays)),
    GANTRY_IMAGE: images.services,
    GANTRY_PKI_IMAGE: images.pki,
    GANTRY_ENGINE_ROOT: engineRoot,
    GANTRY_OVERLAYS: config.overlays.join(','),
    COMPOSE_FILE: ['docker-compose.yml', ...config.overlays.map((name) => `deploy/compose/${name}.yml`)].join(':'),
  });
  if (before !== text) replaceFile(file, text);
  const link = join(config.root, '.env');
  const target = relative(config.root, file);
  if (config.homeKind !== 'checkout' || lstatSync(link, { throwIfNoEntry: false }) !== undefined) return;
  symlinkSync(target, link);
}

/** Makes these services the members of etcd at the next call of Compose. */
export function storeMembers(config: CommandConfig, members: readonly string[]): void {
  const settings = mustReadSettings(config);
  const file = settingsFileOf(config);
  replaceFile(
    file,
    formatSettings(settings, { ...variablesIn(readFileSync(file, 'utf8')), ...formatMembers(members) }),
  );
}

/** Whether the checkout's `.env` is the link that `storeSettings` makes. */
export function isSettingsLink(config: CommandConfig): boolean {
  const link = join(config.root, '.env');
  const found = lstatSync(link, { throwIfNoEntry: false });
  return found?.isSymbolicLink() === true && readlinkSync(link) === relative(config.root, settingsFileOf(config));
}
