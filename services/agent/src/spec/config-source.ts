import type { ClusterTrustBundle, ConfigMap, Secret } from '@gantry/objects';

/** One bundle of trust anchors by its name, or all of a signer. */
export type BundleSelection = { readonly name: string } | { readonly signerName: string };

/** ConfigMaps and Secrets that pods refer to, undefined when the object does not exist; and bundles of trust anchors. */
export interface ConfigSource {
  configMap(namespace: string, name: string, signal: AbortSignal): Promise<ConfigMap | undefined>;
  secret(namespace: string, name: string, signal: AbortSignal): Promise<Secret | undefined>;
  /** AgentError 'FailedMount' where the cluster does not serve bundles. */
  trustBundles(selection: BundleSelection, signal: AbortSignal): Promise<readonly ClusterTrustBundle[]>;
}
