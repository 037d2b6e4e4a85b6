import type {
  ClusterTrustBundle,
  ConfigMap,
  Secret,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
} from '@gantry/objects';

/** One bundle of trust anchors by its name, or all of a signer. */
export type BundleSelection = { readonly name: string } | { readonly signerName: string };

/** ConfigMaps and Secrets that pods refer to, undefined when the object does not exist; and bundles of trust anchors. */
export interface ConfigSource {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** AgentError 'FailedMount' where the cluster does not serve bundles. */
  trustBundles(selection: BundleSelection, signal: AbortSignal): Promise<readonly ClusterTrustBundle[]>;
}

/** Where claims, their volumes and this node's object come from. Undefined: it does not exist. */
export interface ClaimSource {
  claim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined>;
  volume(name: string, signal: AbortSignal): Promise<PersistentVolume | undefined>;
  node(name: string, signal: AbortSignal): Promise<Node | undefined>;
}
