import { parseIpv4, parseIpv4Range } from '@gantry/objects';
import { ConfigError, type ConfigReader, LOG_LEVELS, type LogLevel, readConfig } from '@gantry/service';
import type { CollectionPolicy } from './images/plan-collection.ts';
import { parseNodeLabels, parseTaints, type Registration, RegistrationError } from './node/registration.ts';
import { parseThresholds, type Threshold, ThresholdError, type ThresholdSettings } from './eviction/thresholds.ts';

const MIB = 2 ** 20;
/**
 * The kubelet's hard thresholds. Those for the disk have upper bounds: the disk is that of a whole machine and contains other files, and
 * a tenth of a large disk is far more than pods need.
 */
const EVICTION_HARD =
  'memory.available<100Mi,nodefs.available<10%|2Gi,nodefs.inodesFree<5%,imagefs.available<15%|3Gi,imagefs.inodesFree<5%';

/** The settings of an agent process. */
export interface AgentConfig {
  readonly clusterId: string;
  readonly apiservers: readonly string[];
  /** The port of the API servers' REST API, for the bootstrap token. */
  readonly restPort: number;
  readonly bootstrapDir: string;
  /** The folder of pods' volumes, shared by the agents of one engine. Mounts inside it propagate to the engine's host. */
  readonly stateDir: string;
  /** The folder of this agent's keys and certificates; not shared with other agents. */
  readonly keyDir: string;
  /** The folder of this node's static pods; '' for a folder in the node's part of the state folder. */
  readonly staticPodDir: string;
  readonly podCidr: string;
  readonly podNetwork: string;
  readonly serviceCidr: string;
  /** GANTRY_HOST_ADDRESS: the address at which other hosts of the cluster reach this one; '' for a cluster of one host. */
  readonly hostAddress: string;
  /** The first part of the names of Nodes; '' for the name of the engine's host. */
  readonly hostName: string;
  readonly dockerSocket: string;
  /** Whether load balancers are forwarded from the loopback of the engine's host; `auto`: only on Docker Desktop. */
  readonly forwarders: 'auto' | 'on' | 'off';
  /** The control groups of the engine's host, for measuring containers. */
  readonly cgroupDir: string;
  readonly sandboxImage: string;
  /** The number of nodes that share the host's capacity; 0: all nodes on its engine. */
  readonly capacityShares: number;
  /** Amounts that pods may not request, per node. */
  readonly reserved: { readonly cpuMillis: number; readonly memoryBytes: number; readonly storageBytes: number };
  /** Labels and taints of a new Node. */
  readonly registration: Registration;
  /** The settings for node pressure and evictions. */
  readonly eviction: {
    readonly thresholds: readonly Threshold[];
    readonly transitionMs: number;
    readonly maxPodGraceSeconds: number;
  };
  /** When unused images are removed. */
  readonly imageCollection: CollectionPolicy;
  /** The maximum number of processes and threads of a container. */
  readonly processLimit: number | 'unlimited';
  /** The folder of seccomp profiles; '' for `seccomp` in the state folder. */
  readonly seccompDir: string;
  /** The longest delay before a failing container is restarted, in seconds. */
  readonly maxRestartDelaySeconds: number;
  /** After how long without the control plane this node stops pods that run at most once, in seconds; 0: never. */
  readonly fenceAfterSeconds: number;
  /** The node's name and address; only for an agent outside of a container of Docker Compose. */
  readonly nodeName: string;
  readonly nodeAddress: string;
  readonly logLevel: LogLevel;
}

const FORWARDERS = ['auto', 'on', 'off'] as const;

/** Reads the agent's settings once; an invalid one throws ConfigError. */
export function readAgentConfig(): AgentConfig {
  return readConfig(process.env, (read: ConfigReader) => ({
    clusterId: read.text('GANTRY_CLUSTER_ID'),
    apiservers: read.list('GANTRY_APISERVERS'),
    restPort: read.integer('GANTRY_API_PORT', { min: 1, max: 65_535 }, 6443),
    bootstrapDir: read.text('GANTRY_BOOTSTRAP_DIR', '/etc/gantry/bootstrap'),
    stateDir: read.text('GANTRY_STATE_DIR', '/var/lib/gantry'),
    keyDir: read.text('GANTRY_KEY_DIR', '/var/lib/gantry-keys'),
    staticPodDir: read.text('GANTRY_STATIC_POD_DIR', ''),
    podCidr: read.text('GANTRY_POD_CIDR'),
    podNetwork: read.text('GANTRY_POD_NETWORK'),
    serviceCidr: serviceCidr(read.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16')),
    hostAddress: address(read.text('GANTRY_HOST_ADDRESS', '')),
    hostName: read.text('GANTRY_HOST_NAME', ''),
    dockerSocket: read.text('GANTRY_DOCKER_SOCKET', '/var/run/docker.sock'),
    forwarders: read.oneOf('GANTRY_FORWARDERS', FORWARDERS, 'auto'),
    cgroupDir: read.text('GANTRY_CGROUP_DIR', '/sys/fs/cgroup'),
    sandboxImage: read.text('GANTRY_SANDBOX_IMAGE', 'registry.k8s.io/pause:3.10'),
    capacityShares: read.integer('GANTRY_CAPACITY_SHARES', { min: 0, max: 1000 }, 0),
    reserved: {
      cpuMillis: read.integer('GANTRY_RESERVED_CPU_MILLIS', { min: 0, max: 1_000_000 }, 0),
      memoryBytes: read.integer('GANTRY_RESERVED_MEMORY_MIB', { min: 0, max: 1_000_000_000 }, 0) * MIB,
      storageBytes: read.integer('GANTRY_RESERVED_STORAGE_MIB', { min: 0, max: 1_000_000_000 }, 0) * MIB,
    },
    registration: {
      labels: registrationSetting(read, 'GANTRY_NODE_LABELS', parseNodeLabels),
      taints: registrationSetting(read, 'GANTRY_REGISTER_WITH_TAINTS', parseTaints),
    },
    eviction: {
      thresholds: readThresholds(read),
      transitionMs: read.integer('GANTRY_EVICTION_PRESSURE_TRANSITION_SECONDS', { min: 0, max: 86_400 }, 300) * 1000,
      maxPodGraceSeconds: read.integer('GANTRY_EVICTION_MAX_POD_GRACE_SECONDS', { min: 0, max: 86_400 }, 0),
    },
    imageCollection: readImageCollection(read),
    processLimit: readProcessLimit(read),
    seccompDir: read.text('GANTRY_SECCOMP_DIR', ''),
    maxRestartDelaySeconds: read.integer('GANTRY_MAX_RESTART_DELAY_SECONDS', { min: 1, max: 300 }, 300),
    fenceAfterSeconds: read.integer('GANTRY_FENCE_AFTER_SECONDS', { min: 0, max: 86_400 }, 30),
    nodeName: read.text('GANTRY_NODE_NAME', ''),
    nodeAddress: read.text('GANTRY_NODE_ADDRESS', ''),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}

/**
 * The kubelet's default is no limit. Here pods share the machine's process ids with the engine and etcd, so one fork bomb could stop the
 * whole cluster.
 */
const PROCESS_LIMIT = 4096;

function readProcessLimit(read: ConfigReader): number | 'unlimited' {
  const limit = read.integer('GANTRY_POD_PIDS_LIMIT', { min: -1, max: 4_194_304 }, PROCESS_LIMIT);
  if (limit === 0) throw new ConfigError('GANTRY_POD_PIDS_LIMIT', '0 would let no container start; -1 is unlimited');
  return limit === -1 ? 'unlimited' : limit;
}

function registrationSetting<T>(read: ConfigReader, variable: string, parse: (entries: readonly string[]) => T): T {
  try {
    return parse(read.list(variable, []));
  } catch (error) {
    if (!(error instanceof RegistrationError)) throw error;
    throw new ConfigError(variable, error.message);
  }
}

function readImageCollection(read: ConfigReader): CollectionPolicy {
  const percent = (variable: string, fallback: number) => read.integer(variable, { min: 0, max: 100 }, fallback);
  const highPercent = percent('GANTRY_IMAGE_GC_HIGH_THRESHOLD_PERCENT', 85);
  const lowPercent = percent('GANTRY_IMAGE_GC_LOW_THRESHOLD_PERCENT', 80);
  if (lowPercent >= highPercent) {
    throw new ConfigError('GANTRY_IMAGE_GC_LOW_THRESHOLD_PERCENT', `${lowPercent} is not less than ${highPercent}`);
  }
  const minAgeMs = read.integer('GANTRY_IMAGE_MINIMUM_GC_AGE_SECONDS', { min: 0, max: 31_536_000 }, 120) * 1000;
  return { highPercent, lowPercent, minAgeMs };
}

const THRESHOLD_VARIABLES: Readonly<Record<keyof ThresholdSettings, string>> = {
  hard: 'GANTRY_EVICTION_HARD',
  soft: 'GANTRY_EVICTION_SOFT',
  softGracePeriod: 'GANTRY_EVICTION_SOFT_GRACE_PERIOD',
  minimumReclaim: 'GANTRY_EVICTION_MINIMUM_RECLAIM',
};

/** Reads settings in the form of the kubelet's flags of these names; `none` means no threshold. */
function readThresholds(read: ConfigReader): readonly Threshold[] {
  const text = (setting: keyof ThresholdSettings, fallback = 'none') => {
    const found = read.text(THRESHOLD_VARIABLES[setting], fallback);
    return found === 'none' ? '' : found;
  };
  try {
    return parseThresholds({
      hard: text('hard', EVICTION_HARD),
      soft: text('soft'),
      softGracePeriod: text('softGracePeriod'),
      minimumReclaim: text('minimumReclaim'),
    });
  } catch (error) {
    if (!(error instanceof ThresholdError)) throw error;
    throw new ConfigError(THRESHOLD_VARIABLES[error.setting ?? 'hard'], error.message);
  }
}

/** The settings of a run that joins a host to a cluster. */
export interface JoinConfig
  extends Pick<
    AgentConfig,
    'clusterId' | 'apiservers' | 'restPort' | 'bootstrapDir' | 'keyDir' | 'hostName' | 'dockerSocket' | 'logLevel'
  > {
  /** The folder for the certificate of the host's proxy. */
  readonly proxyTlsDir: string;
}

/** Reads the settings of a joining host once; an invalid one throws ConfigError. */
export function readJoinConfig(): JoinConfig {
  return readConfig(process.env, (read: ConfigReader) => ({
    clusterId: read.text('GANTRY_CLUSTER_ID'),
    apiservers: read.list('GANTRY_APISERVERS'),
    restPort: read.integer('GANTRY_API_PORT', { min: 1, max: 65_535 }, 6443),
    bootstrapDir: read.text('GANTRY_BOOTSTRAP_DIR', '/etc/gantry/bootstrap'),
    keyDir: read.text('GANTRY_KEY_DIR', '/var/lib/gantry-keys'),
    hostName: read.text('GANTRY_HOST_NAME', ''),
    dockerSocket: read.text('GANTRY_DOCKER_SOCKET', '/var/run/docker.sock'),
    proxyTlsDir: read.text('GANTRY_PROXY_TLS_DIR'),
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}

function address(text: string): string {
  if (text === '' || parseIpv4(text) !== undefined) return text;
  throw new ConfigError('GANTRY_HOST_ADDRESS', `${JSON.stringify(text)} is not an IPv4 address`);
}

function serviceCidr(text: string): string {
  if (parseIpv4Range(text) !== undefined) return text;
  throw new ConfigError('GANTRY_SERVICE_CIDR', `${JSON.stringify(text)} is not an IPv4 range`);
}
