import { defaultClusterCidr, podAddresses } from '@gantry/objects';
import {
  ConfigError,
  type ConfigReader,
  type LeaseTimes,
  type LogLevel,
  LOG_LEVELS,
  readConfig,
  readLeaseTimes,
} from '@gantry/service';
import { NodeRangeError, NodeRanges } from './controllers/nodeipam/node-ranges.ts';
import type { EvictionRates } from './controllers/node-lifecycle/zones.ts';

/** The configuration of a controller-manager, from its environment; see docs/conventions.md. */
export interface Config extends LeaseTimes {
  readonly clusterId: string;
  readonly apiservers: readonly string[];
  /** The REST address of the apiservers, which also leads to extension servers. */
  readonly apiserverUrl: string;
  readonly etcd: readonly string[];
  readonly tlsDir: string;
  /** Folder of the client certificate for etcd, which has its own authority. */
  readonly etcdTlsDir: string;
  readonly caDir: string;
  /** Folder of the authority for the servers of agents. */
  readonly nodeCaDir: string;
  /** Whether serving certificates of nodes are approved without an administrator. */
  readonly servingApproval: 'automatic' | 'manual';
  /** Whether other hosts may join: `allowed` if this host has an address for them. */
  readonly joining: 'allowed' | 'refused';
  readonly serviceCidr: string;
  /** The pod network range of the first host; a part of it is for load balancers. */
  readonly podCidr: string;
  /** The parts of the cluster range that hosts get for their pods. */
  readonly nodeRanges: NodeRanges;
  /** Whether the storage class `local-path` is created if it is missing. */
  readonly localPathClass: 'create' | 'none';
  /** Milliseconds without an API server that answers, after which a leader resigns. */
  readonly resignAfterMs: number;
  /** Milliseconds without a heartbeat until a node counts as lost. */
  readonly nodeGraceMs: number;
  /** How fast pods of lost nodes are evicted. */
  readonly evictionRates: EvictionRates;
  readonly logLevel: LogLevel;
  readonly healthPort: number;
  readonly identity: string;
}

/** Reads the environment once. Throws ConfigError that names the invalid variable. */
export function readControllerManagerConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  return readConfig(environment, (read) => ({
    clusterId: read.text('GANTRY_CLUSTER_ID'),
    apiservers: read.list('GANTRY_APISERVERS', ['apiserver:6444']),
    apiserverUrl: read.text('GANTRY_APISERVER_URL', 'https://apiserver:6443'),
    etcd: read.list('GANTRY_ETCD'),
    tlsDir: read.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    etcdTlsDir: read.text('GANTRY_ETCD_TLS_DIR', '/etc/gantry/etcd'),
    caDir: read.text('GANTRY_CA_DIR', '/etc/gantry/ca'),
    nodeCaDir: read.text('GANTRY_NODE_CA_DIR', '/etc/gantry/node-ca'),
    servingApproval: read.oneOf('GANTRY_SERVING_APPROVAL', ['automatic', 'manual'], 'manual'),
    joining: read.text('GANTRY_HOST_ADDRESS', '') === '' ? 'refused' : 'allowed',
    serviceCidr: read.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16'),
    podCidr: podCidr(read.text('GANTRY_POD_CIDR', '10.128.0.0/20')),
    nodeRanges: nodeRanges(read),
    localPathClass: read.oneOf('GANTRY_LOCAL_PATH_CLASS', ['create', 'none'], 'create'),
    ...readLeaseTimes(read),
    resignAfterMs: read.integer('GANTRY_RESIGN_AFTER_MS', { min: 1000, max: 600_000 }, 10_000),
    nodeGraceMs: read.integer('GANTRY_NODE_GRACE_MS', { min: 1000, max: 600_000 }, 4000),
    evictionRates: {
      perSecond: read.integer('GANTRY_NODE_EVICTIONS_PER_MINUTE', { min: 0, max: 60_000 }, 60) / 60,
      secondaryPerSecond: read.integer('GANTRY_SECONDARY_NODE_EVICTIONS_PER_MINUTE', { min: 0, max: 60_000 }, 6) / 60,
      unhealthyShare: read.integer('GANTRY_UNHEALTHY_ZONE_PERCENT', { min: 1, max: 100 }, 55) / 100,
      largeZoneNodes: read.integer('GANTRY_LARGE_ZONE_NODES', { min: 0, max: 100_000 }, 50),
    },
    logLevel: read.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
    healthPort: read.integer('GANTRY_GRPC_PORT', { min: 0, max: 65_535 }, 10257),
    identity: read.text('HOSTNAME', 'controller-manager'),
  }));
}

function podCidr(text: string): string {
  if (podAddresses(text) !== undefined) return text;
  throw new ConfigError('GANTRY_POD_CIDR', `${JSON.stringify(text)} is not an IPv4 range from /8 to /28`);
}

function nodeRanges(read: ConfigReader): NodeRanges {
  const first = podCidr(read.text('GANTRY_POD_CIDR', '10.128.0.0/20'));
  const reserved = [
    read.text('GANTRY_CONTROL_CIDR', '10.128.240.0/24'),
    read.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16'),
  ];
  const clusterCidr = read.text('GANTRY_CLUSTER_CIDR', '');
  try {
    return new NodeRanges({
      clusterCidr: clusterCidr === '' ? defaultClusterCidr(first) : clusterCidr,
      podCidr: first,
      reserved,
    });
  } catch (error) {
    if (!(error instanceof NodeRangeError)) throw error;
    throw new ConfigError(error.setting === 'podCidr' ? 'GANTRY_POD_CIDR' : 'GANTRY_CLUSTER_CIDR', error.message);
  }
}
