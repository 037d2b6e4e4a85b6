import { type Clock, freezeContainer, pause, type Random } from '@gantry/base';
import { CHAOS_SERVICE } from '../cluster/compose.ts';
import { CommandError } from '../machine/command-error.ts';
import { mustRun, type Shell } from '../machine/shell.ts';

/** A container of the cluster: of a service, or of a pod. */
export interface ChaosContainer {
  readonly id: string;
  readonly name: string;
  /** The Compose service; '' for a pod's container. */
  readonly service: string;
  readonly state: string;
  /** Of the main process, in the engine's process namespace; 0 when it does not run. */
  readonly pid: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Addresses by the names of networks. */
  readonly addresses: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly isInHostNetwork: boolean;
}

/**
 * A container by its role, which is looked up when the fault starts: `scheduler/leader`, `scheduler/standby`, `apiserver/2` (by number,
 * modulo the number of replicas), `etcd` (all members), `pod` (a container of the workloads' pods), `cluster`.
 */
export type Target = string;

/** What a container may use. */
export interface Limits {
  readonly memoryBytes: number;
  readonly memorySwapBytes: number;
  /** Microseconds of a processor in 100 ms; 0 or less for no limit. */
  readonly cpuQuota: number;
}

/** Who leads: the beginning of the id, the name or an address of a container. */
export interface Leaders {
  /** Of a component with a Lease (of the API servers: the storage owner; of the agents: the host's custodian); empty without a leader. */
  holderOf(service: string): Promise<string>;
  /** The etcd service that leads; '' when none does. */
  etcdLeader(): Promise<string>;
}

/** How a container beside the cluster reaches a member of etcd. */
export interface EtcdReach {
  /** Options of `docker run`. */
  readonly run: readonly string[];
  /** Options of etcdctl. */
  readonly ctl: readonly string[];
}

/** etcd, asked in containers beside the cluster. */
export interface EtcdAccess {
  /** Services of its members. */
  readonly members: readonly string[];
  /** An image with etcdctl. */
  readonly image: string;
  reach(member: string): EtcdReach;
  /** The current revision. */
  revision(): Promise<number>;
  /** Runs etcdctl towards all members, or towards those given. */
  ctl(args: readonly string[], members?: readonly string[]): Promise<string>;
}

export interface EngineOptions {
  readonly clusterId: string;
  /** The image of the services, which has nft, tc and a shell. */
  readonly image: string;
  readonly shell: Shell;
  readonly clock: Clock;
  readonly leaders: Leaders;
  readonly etcd: EtcdAccess;
  /** The namespace of the workloads, whose pods faults may strike. */
  readonly namespace: string;
}

/** Label of containers that a campaign starts beside the cluster. Its value is the cluster's id. */
export const CHAOS_LABEL = 'gantry.chaos';
/** The Compose project of Kubernetes' control plane, where one runs beside the cluster to be compared with it. */
export const kubernetesProjectOf = (clusterId: string): string => `${clusterId}-kubernetes`;
/** The names of all images that campaigns at a cluster make. */
export const repositoryOf = (clusterId: string) => `gantry-chaos-${clusterId}`;
const PROJECT = 'com.docker.compose.project';
/** The leader is not known while the API does not respond because of another fault. */
const UNKNOWN_LEADER = '';
const NEVER = new AbortController().signal;
/** For the leader: elections take some seconds, and after another fault more. */
const LEADER_MS = 30_000;
/** For an engine that restarts with many containers. */
const ENGINE_MS = 120_000;

/** What faults do to the containers of one cluster. It refuses every container that is not the cluster's. */
export class ChaosEngine {
  readonly options: EngineOptions;
  #lastActAt = Number.NaN;

  constructor(options: EngineOptions) {
    this.options = options;
  }

  /** When the last signal, rule of the network or pause took effect, in Unix milliseconds of the engine's host. */
  get lastActAt(): number {
    return this.#lastActAt;
  }

  docker(args: readonly string[]): Promise<string> {
    return mustRun(this.options.shell, 'docker', args);
  }

  /** Containers with such a label, sorted by name. */
  async list(label: string): Promise<readonly ChaosContainer[]> {
    const ids = await this.docker(['ps', '-aq', '--no-trunc', '--filter', `label=${label}`]);
    return await this.inspect(ids.split('\n').filter((id) => id !== ''));
  }

  /** Containers of services, without those of single commands. */
  async services(): Promise<readonly ChaosContainer[]> {
    const all = await this.list(`${PROJECT}=${this.options.clusterId}`);
    return all.filter(
      ({ labels, service }) => labels['com.docker.compose.oneoff'] !== 'True' && service !== CHAOS_SERVICE,
    );
  }

  async pods(): Promise<readonly ChaosContainer[]> {
    return await this.list(`gantry.cluster=${this.options.clusterId}`);
  }

  /** How many containers run that are not this cluster's. */
  async countOthers(): Promise<number> {
    const ids = (await this.docker(['ps', '-q', '--no-trunc'])).split('\n').filter((id) => id !== '');
    return (await this.inspect(ids)).filter((container) => !this.#isOwn(container)).length;
  }

  /** Waits until the engine responds. Throws CommandError after two minutes. */
  async untilResponds(): Promise<void> {
    const { clock, shell } = this.options;
    for (const since = clock.monotonicMs(); ; ) {
      const { code, stderr } = await shell.run('docker', ['version', '--format', '{{.Server.Version}}']);
      if (code === 0) return;
      if (clock.monotonicMs() - since > ENGINE_MS)
        throw new CommandError(`the Docker Engine does not respond: ${stderr.trim()}`, 'start it');
      await pause(clock, 500, NEVER);
    }
  }

  /** Those of the ids that exist. */
  async inspect(ids: readonly string[]): Promise<readonly ChaosContainer[]> {
    if (ids.length === 0) return [];
    // It fails for those that were removed since, and prints the others all the same.
    const { stdout } = await this.options.shell.run('docker', ['inspect', '--type', 'container', ...ids]);
    return readInspection(stdout).toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
  }

  /** The container, if it still exists. Throws CommandError if it is not this cluster's. */
  async own(id: string): Promise<ChaosContainer | undefined> {
    const [found] = await this.inspect([id]);
    if (found === undefined) return undefined;
    if (!this.#isOwn(found))
      throw new CommandError(`container ${found.name} is not of cluster ${this.options.clusterId}`);
    return found;
  }

  #isOwn({ labels }: ChaosContainer): boolean {
    const owners = [labels[PROJECT], labels['gantry.cluster'], labels[CHAOS_LABEL]];
    return owners.includes(this.options.clusterId);
  }

  /** The containers of a target as they are now. Waits for a leader that is being elected. Throws CommandError if there are none. */
  async resolve(target: Target, random: Random): Promise<readonly ChaosContainer[]> {
    const [family = '', role] = target.split('/');
    if (family === 'pod') return [await this.#pod(role, random)];
    const replicas = (await this.services()).filter(({ service }) => isOfFamily(service, family));
    if (replicas.length === 0) throw new CommandError(`there is no container of ${family}`);
    if (role === undefined) return replicas;
    if (/^\d+$/.test(role)) return [replicas[(Number(role) - 1) % replicas.length] as ChaosContainer];
    const leader = await this.#leaderAmong(family, replicas);
    if (role === 'leader') return [leader];
    const others = replicas.filter(({ id }) => id !== leader.id);
    if (role === 'others') return others;
    if (role === 'standby' && others.length > 0) return [pickOne(others, random)];
    throw new CommandError(`${target} names no container`);
  }

  /** The only container of a target. */
  async one(target: Target, random: Random): Promise<ChaosContainer> {
    const [first] = await this.resolve(target, random);
    if (first === undefined) throw new CommandError(`${target} names no container`);
    return first;
  }

  async #pod(role: string | undefined, random: Random): Promise<ChaosContainer> {
    const isSandbox = (name: string) => name.startsWith('gantry_POD_');
    const found = (await this.pods()).filter(
      ({ labels, state, name }) =>
        state === 'running' &&
        labels['io.kubernetes.pod.namespace'] === this.options.namespace &&
        isSandbox(name) === (role === 'sandbox'),
    );
    if (found.length === 0) throw new CommandError(`no pod of the workloads runs`);
    return pickOne(found, random);
  }

  async #leaderAmong(family: string, replicas: readonly ChaosContainer[]): Promise<ChaosContainer> {
    const { clock, leaders } = this.options;
    for (const since = clock.monotonicMs(); clock.monotonicMs() - since < LEADER_MS; ) {
      const holder = await (family === 'etcd' ? leaders.etcdLeader() : leaders.holderOf(family)).catch(
        () => UNKNOWN_LEADER,
      );
      const found = replicas.find(
        ({ id, service, name, addresses }) =>
          holder !== '' &&
          (service === holder ||
            name === holder ||
            holder.includes(id.slice(0, 12)) ||
            Object.values(addresses).includes(holder)),
      );
      if (found !== undefined) return found;
      await pause(clock, 500, NEVER);
    }
    throw new CommandError(`${family} has no leader`);
  }

  /** Runs a command as root in the network namespace of a container; refuses the host's. */
  async inNetwork({ id, name, isInHostNetwork }: ChaosContainer, command: readonly string[]): Promise<void> {
    if (isInHostNetwork) throw new CommandError(`${name} is in the host's network, which others share`);
    const options = ['--rm', '--network', `container:${id}`, '--cap-add', 'NET_ADMIN'];
    const said = await this.#helper(options, ['sh', '-c', `"$@" && ${SAY_TIME}`, 'sh', ...command]);
    this.#lastActAt = readTime(said);
  }

  /** Sends a signal to the main process of a container as the kernel would: the engine does not take it for its own stop. */
  async signal(container: ChaosContainer, signal: 'KILL' | 'TERM' | 'STOP' | 'CONT'): Promise<void> {
    if (container.pid === 0) return;
    const pid = ['--rm', '--network', 'none', '--pid', 'host', '--cap-add', 'KILL'];
    this.#lastActAt = readTime(
      await this.#helper(pid, ['sh', '-c', `${SAY_TIME}; ${signalScript(container, signal)}`]),
    );
  }

  /** Runs a shell script beside the cluster, which may signal every process of the engine's host. Ends by itself. */
  async startHelper(name: string, script: string): Promise<void> {
    const pid = ['-d', '--rm', '--name', name, '--network', 'none', '--pid', 'host', '--cap-add', 'KILL'];
    await this.#helper(pid, ['sh', '-c', script]);
  }

  #helper(options: readonly string[], command: readonly string[]): Promise<string> {
    const { clusterId, image } = this.options;
    const rights = ['--label', `${CHAOS_LABEL}=${clusterId}`, '--cap-drop', 'ALL', '--user', '0'];
    return this.docker(['run', ...rights, ...options, image, ...command]);
  }

  /** The id of an image of the engine; undefined if there is none of that name. */
  async imageId(name: string): Promise<string | undefined> {
    const { code, stdout } = await this.options.shell.run('docker', ['image', 'inspect', '-f', '{{.Id}}', name]);
    return code === 0 ? stdout.trim() : undefined;
  }

  /** Makes an image with the same files under another name, and with another id. */
  async deriveImage(from: string, name: string): Promise<void> {
    const made = `${repositoryOf(this.options.clusterId)}-image`;
    await this.options.shell.run('docker', ['rm', '-f', made]);
    await this.docker(['create', '--name', made, '--label', `${CHAOS_LABEL}=${this.options.clusterId}`, from]);
    await this.commit(made, name);
    await this.docker(['rm', '-f', made]);
  }

  /**
   * Makes an image of a container beside the cluster. The image does not inherit that container's label: services that run it would be
   * taken for containers beside the cluster, and removed after a SIGKILL of the campaign.
   */
  async commit(container: string, name: string): Promise<void> {
    await this.docker(['commit', '--change', `LABEL ${CHAOS_LABEL}=`, container, name]);
  }

  /** `8:0`: the disk that a volume is on. */
  async diskOf(volume: string): Promise<string> {
    // Limits are those of whole disks: a partition is a folder of its disk's.
    const script = `cd /sys/dev/block/$(stat -c %Hd:%Ld /volume) && if [ -e partition ]; then cat ../dev; else cat dev; fi`;
    const mounts = ['--network', 'none', '-v', `${volume}:/volume:ro`];
    return (await this.#helper(['--rm', ...mounts], ['sh', '-ec', script])).trim();
  }

  /** Limits a running container's writes to a disk, by the io controller of its control group; 0 takes the limit back. */
  async limitWrites(id: string, device: string, perSecond: number): Promise<void> {
    const mounts = ['--network', 'none', '-v', '/sys/fs/cgroup:/host/cgroup'];
    await this.#helper(['--rm', ...mounts], ['sh', '-ec', limitWritesScript(id, device, perSecond)]);
  }

  /** Pauses every process of a running container. */
  async pause({ id }: ChaosContainer): Promise<void> {
    await freezeContainer({
      pause: async () => {
        await this.docker(['pause', id]);
        // Until then, it may still have worked.
        this.#lastActAt = this.options.clock.now();
      },
      unpause: () => this.docker(['unpause', id]),
    });
  }
}

/** The line that `readTime` reads. Starting a helper takes about a second: what counts is when its command acts. */
const SAY_TIME = 'date +%s%3N';

function readTime(said: string): number {
  return Number(said.trim().split('\n').at(-1));
}

/** A shell command that signals a container's main process, if its process id still is of this container. */
export function signalScript({ id, pid }: Pick<ChaosContainer, 'id' | 'pid'>, signal: string): string {
  return `if grep -qs ${id} /proc/${pid}/cgroup; then kill -${signal} ${pid}; fi`;
}

/** Version 1 of control groups has a folder for each controller, version 2 one for all. Docker names a container's by its id. */
function limitWritesScript(id: string, device: string, perSecond: number): string {
  return `if [ -d /host/cgroup/blkio ]; then
  group=$(find /host/cgroup/blkio -type d -name '*${id}*' | head -n 1)
  [ -n "$group" ] && echo '${device} ${perSecond}' > "$group/blkio.throttle.write_iops_device"
else
  group=$(find /host/cgroup -type d -name '*${id}*' | head -n 1)
  [ -n "$group" ] && echo '${device} wiops=${perSecond === 0 ? 'max' : perSecond}' > "$group/io.max"
fi`;
}

function isOfFamily(service: string, family: string): boolean {
  return service === family || (family === 'etcd' && /^etcd-\d+$/.test(service));
}

function pickOne(containers: readonly ChaosContainer[], random: Random): ChaosContainer {
  return containers[Math.floor(random() * containers.length)] as ChaosContainer;
}

interface Inspection {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Status: string; readonly Pid: number };
  readonly Config: { readonly Labels?: Readonly<Record<string, string>> | null };
  readonly HostConfig: {
    readonly NetworkMode: string;
    readonly Memory: number;
    readonly MemorySwap: number;
    readonly CpuQuota: number;
  };
  readonly NetworkSettings: {
    readonly Networks?: Readonly<Record<string, { readonly IPAddress: string }>> | null;
  };
}

/** Of the output of `docker inspect`. */
export function readInspection(text: string): readonly ChaosContainer[] {
  return (JSON.parse(text) as readonly Inspection[]).map((found) => {
    const networks = Object.entries(found.NetworkSettings.Networks ?? {});
    const labels = found.Config.Labels ?? {};
    return {
      id: found.Id,
      name: found.Name.replace(/^\//, ''),
      service: labels['com.docker.compose.service'] ?? '',
      state: found.State.Status,
      pid: found.State.Pid,
      labels,
      addresses: Object.fromEntries(networks.map(([name, { IPAddress }]) => [name, IPAddress])),
      limits: {
        memoryBytes: found.HostConfig.Memory,
        memorySwapBytes: found.HostConfig.MemorySwap,
        cpuQuota: found.HostConfig.CpuQuota,
      },
      isInHostNetwork: found.HostConfig.NetworkMode === 'host',
    };
  });
}
