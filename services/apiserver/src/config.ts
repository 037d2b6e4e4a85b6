import type { ResourceDefinition } from '@gantry/apimachinery';
import { optionalResources, type PodSecurityExemptions } from '@gantry/kinds';
import { dns1123Label, dns1123Subdomain } from '@gantry/objects';
import { type ReportingService, serviceInDns } from './introspection/process-reports.ts';
import {
  ConfigError,
  type ConfigReader,
  type LeaseTimes,
  LOG_LEVELS,
  type LogLevel,
  readConfig,
  readLeaseTimes,
} from '@gantry/service';

/** The settings of the process; see docs/conventions.md. */
export interface ApiServerConfig extends LeaseTimes {
  readonly clusterId: string;
  readonly etcd: readonly string[];
  /** The quota of each etcd member's file. Must be that of the members. */
  readonly etcdQuotaBytes: number;
  /** For how long etcd's history is kept at least. */
  readonly historyMinutes: number;
  /** The services with a leader, whose processes say what they do. */
  readonly processes: readonly ReportingService[];
  readonly tlsDir: string;
  readonly etcdTlsDir: string;
  /** The folder of the client certificate for agents and of the CA of the agents' servers. */
  readonly agentTlsDir: string;
  readonly frontProxyDir: string;
  readonly serviceAccountDir: string;
  readonly bootstrapDir: string;
  /** The folder of the keys that seal objects in etcd. */
  readonly sealingDir: string;
  /** The resources whose objects are sealed, such as `secrets` or `things.example.org`. */
  readonly sealedResources: readonly string[];
  readonly serviceCidr: string;
  readonly podCidr: string;
  readonly defaultTolerationSeconds: number;
  /** The built-in resources that are served although they are not served by default. */
  readonly optionalResources: readonly ResourceDefinition[];
  readonly podSecurityExemptions: PodSecurityExemptions;
  readonly audit: {
    readonly policyFile: string;
    readonly folder: string;
    readonly maxMiB: number;
    readonly maxBackups: number;
  };
  readonly snapshots: {
    /** 0: none are taken. */
    readonly everyMinutes: number;
    readonly keep: number;
    readonly folder: string;
  };
  readonly logLevel: LogLevel;
}

/** Reads the environment once. Throws ConfigError, which names the variable. */
export function readApiServerConfig(environment: NodeJS.ProcessEnv = process.env): ApiServerConfig {
  return readConfig(environment, (reader: ConfigReader) => ({
    clusterId: reader.text('GANTRY_CLUSTER_ID', 'gantry'),
    etcd: reader.list('GANTRY_ETCD'),
    ...readLeaseTimes(reader),
    etcdQuotaBytes: reader.integer('GANTRY_ETCD_QUOTA_BYTES', { min: 2 ** 24, max: 2 ** 36 }, 2 ** 31),
    historyMinutes: reader.integer('GANTRY_HISTORY_MINUTES', { min: 5, max: 1440 }, 5),
    processes: reader.list('GANTRY_PROCESSES', ['scheduler:10259', 'controller-manager:10257']).map(reportingService),
    tlsDir: reader.text('GANTRY_TLS_DIR', '/etc/gantry/tls'),
    etcdTlsDir: reader.text('GANTRY_ETCD_TLS_DIR', '/etc/gantry/etcd'),
    agentTlsDir: reader.text('GANTRY_AGENT_TLS_DIR', '/etc/gantry/agents'),
    frontProxyDir: reader.text('GANTRY_FRONT_PROXY_DIR', '/etc/gantry/front-proxy'),
    serviceAccountDir: reader.text('GANTRY_SA_DIR', '/etc/gantry/sa'),
    bootstrapDir: reader.text('GANTRY_BOOTSTRAP_DIR', '/etc/gantry/bootstrap'),
    sealingDir: reader.text('GANTRY_SEALING_DIR', '/etc/gantry/sealing'),
    sealedResources: sealedResources(reader.list('GANTRY_SEALED_RESOURCES', ['secrets'])),
    serviceCidr: reader.text('GANTRY_SERVICE_CIDR', '10.96.0.0/16'),
    podCidr: reader.text('GANTRY_POD_CIDR', '10.128.0.0/20'),
    defaultTolerationSeconds: reader.integer('GANTRY_DEFAULT_TOLERATION_SECONDS', { min: 0, max: 86_400 }, 2),
    optionalResources: optionalResourcesOf(reader.list('GANTRY_RUNTIME_CONFIG', [])),
    podSecurityExemptions: {
      usernames: names(reader, 'GANTRY_POD_SECURITY_EXEMPT_USERNAMES', () => []),
      runtimeClasses: names(reader, 'GANTRY_POD_SECURITY_EXEMPT_RUNTIME_CLASSES', dns1123Subdomain),
      namespaces: names(reader, 'GANTRY_POD_SECURITY_EXEMPT_NAMESPACES', dns1123Label),
    },
    audit: {
      policyFile: reader.text('GANTRY_AUDIT_POLICY_FILE', '/etc/gantry/audit-policy.yaml'),
      folder: reader.text('GANTRY_AUDIT_LOG_DIR', '/var/log/gantry'),
      maxMiB: reader.integer('GANTRY_AUDIT_LOG_MAX_MIB', { min: 1, max: 10_240 }, 100),
      maxBackups: reader.integer('GANTRY_AUDIT_LOG_MAX_BACKUPS', { min: 0, max: 1000 }, 10),
    },
    snapshots: {
      everyMinutes: reader.integer('GANTRY_SNAPSHOT_EVERY_MINUTES', { min: 0, max: 43_200 }, 0),
      keep: reader.integer('GANTRY_SNAPSHOT_KEEP', { min: 1, max: 1000 }, 8),
      folder: reader.text('GANTRY_SNAPSHOT_DIR', '/var/lib/gantry/snapshots'),
    },
    logLevel: reader.oneOf('GANTRY_LOG_LEVEL', LOG_LEVELS, 'info'),
  }));
}

/** `NAME:PORT`. */
function reportingService(text: string): ReportingService {
  const [, name = '', port = ''] = /^([a-z0-9][a-z0-9.-]*):([0-9]{1,5})$/.exec(text) ?? [];
  if (name === '' || Number(port) > 65_535 || Number(port) === 0)
    throw new ConfigError(
      'GANTRY_PROCESSES',
      `${JSON.stringify(text)} is not a name and a port such as scheduler:10259`,
    );
  return serviceInDns(name, Number(port));
}

/** Reads a list of unique names, empty by default. `problems` validates a name. */
function names(
  reader: ConfigReader,
  variable: string,
  problems: (name: string) => readonly string[],
): readonly string[] {
  const found = reader.list(variable, []);
  for (const [i, name] of found.entries()) {
    const [problem] = found.indexOf(name) < i ? ['is repeated'] : problems(name);
    if (problem !== undefined) throw new ConfigError(variable, `${JSON.stringify(name)}: ${problem}`);
  }
  return found;
}

/** Entries like Kubernetes' `--runtime-config`: `certificates.k8s.io/v1beta1=true`. A third segment names one resource. */
function optionalResourcesOf(entries: readonly string[]): readonly ResourceDefinition[] {
  const wanted = new Set<ResourceDefinition>();
  for (const entry of entries) {
    const [api = '', value = 'true', ...more] = entry.split('=');
    const matches = optionalResources.filter(({ group, version, resource }) =>
      [`${group}/${version}`, `${group}/${version}/${resource}`].includes(api),
    );
    if (matches.length === 0 || more.length > 0 || !['true', 'false'].includes(value)) {
      const known = optionalResources.map(({ group, version, resource }) => `${group}/${version}/${resource}=true`);
      throw new ConfigError('GANTRY_RUNTIME_CONFIG', `${JSON.stringify(entry)} is none of ${known.join(', ')}`);
    }
    for (const match of matches) {
      if (value === 'true') wanted.add(match);
      else wanted.delete(match);
    }
  }
  return [...wanted];
}

/** The resources to seal. `none` means that nothing is sealed. */
function sealedResources(names: readonly string[]): readonly string[] {
  if (names.length === 1 && names[0] === 'none') return [];
  for (const name of names) {
    if (!/^[a-z0-9-]+(\.[a-z0-9.-]+)?$/.test(name)) {
      throw new ConfigError(
        'GANTRY_SEALED_RESOURCES',
        `${JSON.stringify(name)} is not a resource such as secrets or things.example.org`,
      );
    }
  }
  return names;
}
