import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandConfig } from '../config.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';
import { hasMiscountedNetwork } from './miscounted-network.ts';
import { findOwnVolumes } from './own-volumes.ts';
import { usableImage } from './usable-image.ts';

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

/** What admits another machine. */
export interface BootstrapToken {
  readonly token: string;
  readonly madeAt: string;
  /** The cluster's authority, PEM. */
  readonly authority: string;
}

/** The Compose project of one cluster. */
export interface Project {
  up(counts: ReadonlyMap<string, number>, onLine: (line: string) => void): Promise<void>;
  /** Removes containers and networks, and with `remove` also volumes. */
  down(volumes: 'remove' | 'keep', onLine: (line: string) => void): Promise<void>;
  /** Removes a service's containers, and the volumes that each of them has for itself. */
  removeService(service: string): Promise<void>;
  /**
   * Unmounts what agents have mounted in their state volume, since the engine cannot remove a volume before that, and removes the control
   * groups of pods, which have no processes any more. Needs no agent, but an image of the services.
   */
  cleanHost(onLine: (line: string) => void): Promise<void>;
  /** Removes the routing rules of pods from this host, and the service that keeps them; also where the service has no container. */
  removePodEgress(onLine: (line: string) => void): Promise<void>;
  /**
   * Removes the rules of Services from this host's packet filter, and the service that writes them; also where it has no container. Pods
   * that still run lose their network.
   */
  removeProxy(onLine: (line: string) => void): Promise<void>;
  /** Runs `docker compose` with these arguments; returns what it has written. */
  compose(args: readonly string[], onLine?: (line: string) => void): Promise<string>;
  /** Runs a service to its end, with its own command if none is given; returns what it has written. */
  runOnce(service: string, command: readonly string[]): Promise<string>;
  containers(): Promise<readonly ServiceContainer[]>;
}

/** What joins other machines, on both sides. */
export interface HostProject extends Project {
  /** Runs the certificate job, which replaces an old token, and reads the bootstrap token. */
  bootstrapToken(): Promise<BootstrapToken>;
  /** On a host that joins: registers it. Returns what the run has written. */
  register(): Promise<string>;
}

/**
 * In an agent's container: unmounts everything below its state folder, inner mounts first, and fails where something is left. A server of
 * NFS that is gone would hold it up without end: as kubelet does, it is forced after a minute, and that has a minute too.
 */
const UNMOUNT_STATE = `cut -d ' ' -f 5 /proc/self/mountinfo | grep '^/var/lib/gantry/' | sort -r |
  while read -r path; do
    timeout --signal=KILL 60 umount --no-canonicalize "$path" ||
      timeout --signal=KILL 60 umount --no-canonicalize --force "$path"
  done
if grep ' /var/lib/gantry/' /proc/self/mountinfo >&2; then exit 1; fi`;

/** In an agent's container: removes the control groups of pods (services/agent/src/docker/options/pod-group-name.ts has their form). */
const REMOVE_GROUPS = `for parent in "$GANTRY_CGROUP_DIR"/docker "$GANTRY_CGROUP_DIR"/*/docker; do
  for group in "$parent/$GANTRY_CLUSTER_ID"-????????????-pod*; do
    if test -d "$group"; then rmdir "$group" || exit 1; fi
  done
done`;

/** Makes a volume as Compose would, if the cluster does not have it. */
export async function createVolume(shell: Shell, clusterId: string, name: string): Promise<void> {
  const labels = [`com.docker.compose.project=${clusterId}`, `com.docker.compose.volume=${name}`];
  const options = labels.flatMap((label) => ['--label', label]);
  await mustRun(shell, 'docker', ['volume', 'create', ...options, `${clusterId}_${name}`]);
}

/** Services that the user may scale. */
const SCALED = ['apiserver', 'scheduler', 'controller-manager', 'dns', 'agent'] as const;

export const settingsFileOf = (config: CommandConfig) => join(config.home, 'env');

/** What a host that has joined runs, in place of a whole cluster. */
export const JOIN_FILE = 'deploy/compose/join.yml';
/** What registers it before. */
export const REGISTER_FILE = 'deploy/compose/register.yml';

/** The project of a whole cluster, or with `JOIN_FILE` that of a joined host. */
export function openProject(
  config: CommandConfig,
  clusterId: string,
  shell: Shell,
  file = 'docker-compose.yml',
): HostProject {
  const overlays = config.overlays.map((name) => {
    const file = join(config.root, 'deploy/compose', `${name}.yml`);
    if (!existsSync(file)) throw new CommandError(`there is no overlay ${name}`, `look into deploy/compose`);
    return file;
  });
  const files = [join(config.root, file), ...overlays].flatMap((path) => ['-f', path]);
  const base = ['compose', ...files, '--env-file', settingsFileOf(config), '-p', clusterId, '--progress', 'plain'];
  const options = (onLine?: (line: string) => void) => ({
    env: { GANTRY_HOME: config.home },
    ...(onLine === undefined ? {} : { onLine }),
  });
  const readService = async (service: string): Promise<ComposedService> =>
    serviceOf(await mustRun(shell, 'docker', [...base, 'config', '--format', 'json', service], options()), service);
  const removeWithRules = async (service: string, remove: readonly string[], onLine: (line: string) => void) => {
    await mustRun(shell, 'docker', [...base, 'rm', '-s', '-f', service], options());
    const { image, ...settings } = await readService(service);
    const usable = await usableImage(shell, clusterId, image);
    if (usable === undefined) {
      // No cluster was started here, or its user has removed the image too.
      onLine(`the image ${image} is gone: rules of the host, if there are any, stay`);
      return;
    }
    // Compose would make the networks of the cluster for it, whose ranges may be in use by others now.
    await mustRun(shell, 'docker', ['run', ...hostArguments(settings), usable, ...remove]);
  };
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
    compose: (args, onLine) => mustRun(shell, 'docker', [...base, ...args], options(onLine)),
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
      const volumes = await findOwnVolumes(shell, clusterId, service);
      await mustRun(shell, 'docker', [...base, 'rm', '-s', '-f', '-v', service], options());
      // Those that are gone already are no failure.
      if (volumes.length > 0) await mustRun(shell, 'docker', ['volume', 'rm', '-f', ...volumes]);
    },
    cleanHost: async (onLine) => {
      const volume = ['volume', 'ls', '-q', '--filter', `name=^${clusterId}_agent-state$`];
      if ((await mustRun(shell, 'docker', volume)).trim() === '') return;
      const { image } = await readService('agent');
      // Compose would build it, for minutes.
      const usable = await usableImage(shell, clusterId, image);
      if (usable === undefined) {
        onLine(`the image ${image} is gone: what agents have mounted, if there is anything, stays`);
        return;
      }
      const command = ['run', '--rm', '--no-deps', '-T', 'agent', 'sh', '-c', `${UNMOUNT_STATE}\n${REMOVE_GROUPS}`];
      const { env } = options();
      await mustRun(shell, 'docker', [...base, ...command], { env: { ...env, GANTRY_IMAGE: usable } });
    },
    // Rules outlive their service where its container was killed, or was removed by `docker compose down`: whether there is a container
    // says nothing about them.
    removePodEgress: (onLine) => removeWithRules('pod-egress', ['pod-egress', 'remove'], onLine),
    removeProxy: (onLine) => removeWithRules('proxy', ['node', 'lib/proxy.mjs', 'remove', 'ports'], onLine),
    bootstrapToken: async () => {
      const run = [...base, 'run', '--rm', '--no-deps', '-T', 'pki'];
      await mustRun(shell, 'docker', run, options());
      const files = ['token', 'made-at', 'ca.crt'].map((name) => `/pki/bootstrap/${name}`);
      const text = await mustRun(shell, 'docker', [...run, 'cat', ...files], options());
      const [token = '', madeAt = '', ...authority] = text.split('\n');
      return { token, madeAt, authority: authority.join('\n') };
    },
    register: () => mustRun(shell, 'docker', [...base, 'run', '--rm', '--no-deps', '-T', 'register'], options()),
    runOnce: (service, command) =>
      mustRun(shell, 'docker', [...base, 'run', '--rm', '--no-deps', '-T', service, ...command], options()),
    containers: () => listContainers(shell, clusterId),
  };
}

/**
 * The number of replicas of each scalable service; empty when the cluster has no containers. While a container is replaced, it and its
 * successor are one replica, with the same number at the end of their names; what successors are made from is none (`-model`).
 */
export function countsOf(containers: readonly ServiceContainer[]): ReadonlyMap<string, number> {
  const count = (service: string) => {
    const own = containers.filter((container) => container.service === service && !container.name.endsWith('-model'));
    return new Set(own.map(({ name }) => name.slice(name.lastIndexOf('-')))).size;
  };
  if (SCALED.every((service) => count(service) === 0)) return new Map();
  return new Map(SCALED.map((service) => [service, count(service)] as const).filter(([, number]) => number > 0));
}

const LABEL = 'com.docker.compose';
/** The service that runs a campaign (`docker compose --profile chaos up`): beside the cluster, not a part of it. */
export const CHAOS_SERVICE = 'chaos';

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
    .filter(([, , , , service, oneOff]) => oneOff !== 'True' && service !== CHAOS_SERVICE)
    .map(([name = '', state = '', status = '', image = '', service = '']) => ({
      name,
      service,
      state,
      health: /\((?:health: )?(healthy|unhealthy|starting)\)/.exec(status)?.[1] ?? '',
      image,
    }))
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}

/** What `docker compose config` says of a service that changes the host. */
interface ComposedService {
  readonly image: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly cap_add: readonly string[];
  readonly tmpfs?: readonly string[];
}

function serviceOf(config: string, service: string): ComposedService {
  const { services } = JSON.parse(config) as { readonly services: Readonly<Record<string, ComposedService>> };
  const found = services[service];
  if (found === undefined) throw new CommandError(`docker compose config shows no service ${service}`);
  return found;
}

/** The arguments of `docker run` for a single command of a service in the host's network, with the rights that the service has. */
function hostArguments({ environment, cap_add, tmpfs = [] }: Omit<ComposedService, 'image'>): readonly string[] {
  return [
    ...['--rm', '--network', 'host', '--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges:true'],
    ...cap_add.flatMap((capability) => ['--cap-add', capability]),
    ...tmpfs.flatMap((mount) => ['--tmpfs', mount]),
    ...Object.entries(environment).flatMap(([name, value]) => ['-e', `${name}=${value}`]),
  ];
}
