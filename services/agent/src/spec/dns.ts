import type { Pod } from '@gantry/objects';
import type { SandboxSpec } from '../runtime/sandboxes.ts';

/** The parts of a resolv.conf. */
export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** The DNS settings of a node. */
export interface NodeResolver {
  /** The address of the cluster's DNS. */
  readonly clusterServer: string;
  /** The resolver of a container on the pods' network: the engine's, which forwards to the host's resolver. */
  readonly engine: ResolverConfig;
}

/** How the containers of a pod resolve names. */
export type PodResolver =
  /** As the engine configures it. */
  | { readonly kind: 'engine' }
  /** By their own resolv.conf. `omitted` contains the kubelet's messages about entries that exceed the limits. */
  | { readonly kind: 'file'; readonly config: ResolverConfig; readonly omitted: readonly string[] };

/** The address of the engine's name server inside each container on one of its networks. */
export const ENGINE_SERVER = '127.0.0.11';

/** The domain of the cluster, Kubernetes' default. */
export const CLUSTER_DOMAIN = 'cluster.local';
/** Names with fewer dots are first looked up in the search domains. */
const CLUSTER_OPTIONS = ['ndots:5'];
/** Kubernetes' limits, which come from C libraries. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
const MAX_SEARCH = 253;

/** The resolver of a pod by its `dnsPolicy` and `dnsConfig`, with the kubelet's rules. */
export function podResolver(pod: Pod, node: NodeResolver): PodResolver {
  const base = baseConfig(pod, node);
  const added = pod.spec?.dnsConfig;
  if (base === 'engine') {
    // On the host's network, the engine itself adds to the host's resolv.conf; see `sandboxDns`.
    if (added === undefined || pod.spec?.hostNetwork === true) return { kind: 'engine' };
    return withinLimits(merged(node.engine, pod));
  }
  return withinLimits(added === undefined ? base : merged(base, pod));
}

/** The DNS settings that the engine writes into a sandbox's resolv.conf; empty when the pod has a file of its own. */
export function sandboxDns(pod: Pod): SandboxSpec['dns'] {
  const config = usesClusterDns(pod) || pod.spec?.hostNetwork !== true ? {} : (pod.spec?.dnsConfig ?? {});
  const isNone = pod.spec?.dnsPolicy === 'None';
  return {
    servers: isNone ? [] : (config.nameservers ?? []),
    searches: isNone ? [] : (config.searches ?? []),
    options: isNone ? [] : optionsOf(config.options ?? []),
  };
}

/** Parses a resolv.conf like the kubelet: the last `search` line counts, and the last value of each option. */
export function parseResolvConf(text: string): ResolverConfig {
  const servers: string[] = [];
  let searches: readonly string[] = [];
  let options: readonly string[] = [];
  for (const line of text.split('\n')) {
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) servers.push(values[0]);
    if (keyword === 'search') searches = values.filter((one) => one !== '.').map((one) => one.replace(/\.$/, ''));
    if (keyword === 'options') options = mergeOptions(options, values);
  }
  return { servers, searches, options };
}

/** Formats a resolv.conf like container runtimes do. */
export function formatResolvConf({ servers, searches, options }: ResolverConfig): string {
  return [
    ...(searches.length === 0 ? [] : [`search ${searches.join(' ')}`]),
    ...servers.map((server) => `nameserver ${server}`),
    ...(options.length === 0 ? [] : [`options ${options.join(' ')}`]),
    '',
  ].join('\n');
}

function usesClusterDns({ spec }: Pod): boolean {
  const policy = spec?.dnsPolicy ?? 'ClusterFirst';
  return policy === 'ClusterFirstWithHostNet' || (policy === 'ClusterFirst' && spec?.hostNetwork !== true);
}

function baseConfig(pod: Pod, { clusterServer, engine }: NodeResolver): ResolverConfig | 'engine' {
  if (pod.spec?.dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  if (!usesClusterDns(pod)) return 'engine';
  const below = [`${pod.metadata.namespace ?? ''}.svc.${CLUSTER_DOMAIN}`, `svc.${CLUSTER_DOMAIN}`, CLUSTER_DOMAIN];
  return {
    servers: [clusterServer],
    searches: [...new Set([...below, ...engine.searches])],
    options: CLUSTER_OPTIONS,
  };
}

function merged({ servers, searches, options }: ResolverConfig, { spec }: Pod): ResolverConfig {
  const added = spec?.dnsConfig ?? {};
  return {
    servers: [...new Set([...servers, ...(added.nameservers ?? [])])],
    searches: [...new Set([...searches, ...(added.searches ?? [])])],
    options: mergeOptions(options, optionsOf(added.options ?? [])),
  };
}

function optionsOf(options: readonly { readonly name?: string; readonly value?: string }[]): readonly string[] {
  return options.map(({ name = '', value = '' }) => (value === '' ? name : `${name}:${value}`));
}

function mergeOptions(options: readonly string[], added: readonly string[]): readonly string[] {
  const nameOf = (option: string) => option.split(':', 1)[0] ?? '';
  return [...new Map([...options, ...added].map((option) => [nameOf(option), option])).values()];
}

function withinLimits({ servers, searches, options }: ResolverConfig): PodResolver {
  const omitted: string[] = [];
  const kept = servers.slice(0, MAX_SERVERS);
  if (kept.length < servers.length) {
    omitted.push(
      `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${kept.join(' ')}`,
    );
  }
  const fitting = searches.slice(0, MAX_SEARCHES).filter((search) => search.length <= MAX_SEARCH);
  while (fitting.join(' ').length > MAX_SEARCH_CHARACTERS) fitting.pop();
  if (fitting.length < searches.length) {
    omitted.push(
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${fitting.join(' ')}`,
    );
  }
  return { kind: 'file', config: { servers: kept, searches: fitting, options }, omitted };
}
