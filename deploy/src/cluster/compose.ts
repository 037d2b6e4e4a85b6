import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { hasMiscountedNetwork } from './miscounted-network.ts';

/** A container of a Gantry service. */
export interface ServiceContainer {
  readonly name: string;
  readonly service: string;
  /** `running`, `exited`, `paused`, `restarting`, `created`, `dead`. */
  readonly state: string;
  /** `healthy`, `unhealthy`, `starting` or ''. */
  readonly health: string;
  readonly image: string;
}

/** The Compose project of one cluster. */
export interface Project {
  up(counts: ReadonlyMap<string, number>, onLine: (line: string) => void): Promise<void>;
  /** Removes containers and networks, and with `remove` also volumes. */
  down(volumes: 'remove' | 'keep', onLine: (line: string) => void): Promise<void>;
  /** Removes a service's containers, and the volumes that each of them has for itself. */
  removeService(service: string): Promise<void>;
  /** Unmounts what agents have mounted in their state volume: the engine cannot remove a volume before that. Needs no agent. */
  unmountState(): Promise<void>;
  /** Removes the routing rules of pods from this host, and the service that keeps them. */
  removePodEgress(): Promise<void>;
  /** Removes the rules of Services from this host's packet filter, and the service that writes them. */
  removeProxy(): Promise<void>;
  /** Runs a service that is not part of `up` to its end; returns what it has written. */
  runOnce(service: string, args: readonly string[]): Promise<string>;
  containers(): Promise<readonly ServiceContainer[]>;
}

/** In an agent's container: unmounts everything below its state folder, inner mounts first, and fails where something is left. */
const UNMOUNT_STATE = `cut -d ' ' -f 5 /proc/self/mountinfo | grep '^/var/lib/gantry/' | sort -r |
  while read -r path; do umount --no-canonicalize "$path"; done
if grep ' /var/lib/gantry/' /proc/self/mountinfo >&2; then exit 1; fi`;

/** Services that the user may scale. */
const SCALED = ['apiserver', 'scheduler', 'controller-manager', 'dns', 'agent'] as const;

export const settingsFileOf = (config: CommandConfig) => join(config.home, 'env');

export function openProject(config: CommandConfig, clusterId: string, shell: Shell): Project {
  const overlays = config.overlays.map((name) => {
    const file = join(config.root, 'deploy/compose', `${name}.yml`);
    if (!existsSync(file)) throw new CommandError(`there is no overlay ${name}`, `look into deploy/compose`);
    return file;
  });
  const files = [join(config.root, 'docker-compose.yml'), ...overlays].flatMap((file) => ['-f', file]);
  const base = ['compose', ...files, '--env-file', settingsFileOf(config), '-p', clusterId, '--progress', 'plain'];
  const options = (onLine?: (line: string) => void) => ({
    env: { GANTRY_HOME: config.home },
    ...(onLine === undefined ? {} : { onLine }),
  });
  return {
    up: async (counts, onLine) => {
      const scale = [...counts].flatMap(([service, count]) => ['--scale', `${service}=${count}`]);
      await mustRun(
        shell,
        'docker',
        [...base, 'up', '-d', '--no-build', '--remove-orphans', ...scale],
        options(onLine),
      );
    },
    down: async (volumes, onLine) => {
      const remove = volumes === 'remove' ? ['--volumes'] : [];
      const command = [...base, 'down', '--remove-orphans', '-t', '5', ...remove];
      try {
        await mustRun(shell, 'docker', command, options(onLine));
      } catch (error) {
        if (!(await hasMiscountedNetwork(shell, clusterId, error))) throw error;
        onLine('the engine counts endpoints that are gone: restarting it');
        await mustRun(shell, join(config.root, 'deploy/bin/ensure-engine'), ['--restart-idle']);
        await mustRun(shell, 'docker', command, options(onLine));
      }
    },
    removeService: async (service) => {
      await mustRun(shell, 'docker', [...base, 'rm', '-s', '-f', '-v', service], options());
    },
    unmountState: async () => {
      const volume = ['volume', 'ls', '-q', '--filter', `name=^${clusterId}_agent-state$`];
      if ((await mustRun(shell, 'docker', volume)).trim() === '') return;
      const command = ['run', '--rm', '--no-deps', '-T', 'agent', 'sh', '-c', UNMOUNT_STATE];
      await mustRun(shell, 'docker', [...base, ...command], options());
    },
    removePodEgress: async () => {
      const kept = (await listContainers(shell, clusterId)).find(({ service }) => service === 'pod-egress');
      if (kept === undefined) return;
      // It removes its rules when it is stopped, but not when it was killed.
      await mustRun(shell, 'docker', [...base, 'rm', '-s', '-f', 'pod-egress'], options());
      if (kept.state === 'running') return;
      const remove = ['run', '--rm', '--no-deps', '-T', 'pod-egress', 'pod-egress', 'remove'];
      await mustRun(shell, 'docker', [...base, ...remove], options());
    },
    removeProxy: async () => {
      if (!(await listContainers(shell, clusterId)).some(({ service }) => service === 'proxy')) return;
      await mustRun(shell, 'docker', [...base, 'rm', '-s', '-f', 'proxy'], options());
      const remove = ['run', '--rm', '--no-deps', '-T', 'proxy', 'node', 'lib/proxy.mjs', 'remove'];
      await mustRun(shell, 'docker', [...base, ...remove], options());
    },
    runOnce: (service, args) => {
      const command = args.length === 0 ? [] : ['node', 'lib/apiserver.mjs', service, ...args];
      return mustRun(shell, 'docker', [...base, 'run', '--rm', '--no-deps', '-T', service, ...command], options());
    },
    containers: () => listContainers(shell, clusterId),
  };
}

/** The number of containers of each scalable service; empty when the cluster has no containers. */
export function countsOf(containers: readonly ServiceContainer[]): ReadonlyMap<string, number> {
  const count = (service: string) => containers.filter((container) => container.service === service).length;
  if (SCALED.every((service) => count(service) === 0)) return new Map();
  return new Map(SCALED.map((service) => [service, count(service)] as const).filter(([, number]) => number > 0));
}

const LABEL = 'com.docker.compose';

async function listContainers(shell: Shell, clusterId: string): Promise<readonly ServiceContainer[]> {
  const format = ['Names', 'State', 'Status', 'Image'].map((field) => `{{.${field}}}`);
  const label = (name: string) => `{{.Label "${LABEL}.${name}"}}`;
  const text = await mustRun(shell, 'docker', [
    'ps',
    '-a',
    '--filter',
    `label=${LABEL}.project=${clusterId}`,
    '--format',
    [...format, label('service'), label('oneoff')].join('\t'),
  ]);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split('\t'))
    .filter(([, , , , , oneOff]) => oneOff !== 'True')
    .map(([name = '', state = '', status = '', image = '', service = '']) => ({
      name,
      service,
      state,
      health: /\((?:health: )?(healthy|unhealthy|starting)\)/.exec(status)?.[1] ?? '',
      image,
    }))
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}
