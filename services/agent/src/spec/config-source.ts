import type {
  ClusterTrustBundle,
  ConfigMap,
  Secret,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
} from '@gantry/objects';
import { RecentReads } from './recent-reads.ts';

/** One bundle of trust anchors by name, or all bundles of a signer. */
export type BundleSelection = { readonly name: string } | { readonly signerName: string };

/** Reads the ConfigMaps and Secrets that pods refer to, undefined for an object that does not exist, and trust bundles. */
export interface ConfigSource {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** AgentError 'FailedMount' when the cluster does not serve trust bundles. */
  trustBundles(selection: BundleSelection, signal: AbortSignal): Promise<readonly ClusterTrustBundle[]>;
}

/** A source for one pass over a pod: see `RecentReads`. */
export function rememberReads(source: ConfigSource): ConfigSource {
  const reads = new RecentReads();
  return {
    configMap: (namespace, name, signal) =>
      reads.get(`configmap/${namespace}/${name}`, () => source.configMap(namespace, name, signal)),
    secret: (namespace, name, signal) =>
      reads.get(`secret/${namespace}/${name}`, () => source.secret(namespace, name, signal)),
    trustBundles: (selection, signal) =>
      reads.get(JSON.stringify(selection), () => source.trustBundles(selection, signal)),
  };
}

/** Reads claims, their volumes and this node's object; undefined for an object that does not exist. */
export interface ClaimSource {
  claim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined>;
  volume(name: string, signal: AbortSignal): Promise<PersistentVolume | undefined>;
  node(name: string, signal: AbortSignal): Promise<Node | undefined>;
}
