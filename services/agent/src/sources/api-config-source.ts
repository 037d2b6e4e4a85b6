import {
  CLUSTER_TRUST_BUNDLES,
  CONFIG_MAPS,
  SECRETS,
  StatusError,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
} from '@gantry/objects';
import { ignoreNotFound, type ObjectReader } from '@gantry/client';
import { AgentError } from '../runtime/agent-error.ts';
import type { BundleSelection, ConfigSource, ClaimSource } from '../spec/config-source.ts';

/** Reads ConfigMaps, Secrets and trust bundles from the API on each call. */
export function apiConfigSource(client: ObjectReader): ConfigSource {
  return {
    configMap: (namespace, name, signal) => ignoreNotFound(client.get(CONFIG_MAPS, { namespace, name }, signal)),
    secret: (namespace, name, signal) => ignoreNotFound(client.get(SECRETS, { namespace, name }, signal)),
    trustBundles: async (selection, signal) => {
      const fieldSelector = bundleSelector(selection);
      try {
        return (await client.list(CLUSTER_TRUST_BUNDLES, { fieldSelector }, signal)).items;
      } catch (error) {
        if (!(error instanceof StatusError && error.reason === 'NotFound')) throw error;
        const message =
          'this cluster does not serve ClusterTrustBundles of certificates.k8s.io/v1beta1 (GANTRY_RUNTIME_CONFIG)';
        throw new AgentError('FailedMount', message, { cause: error });
      }
    },
  };
}

/** The field selector for listing or watching bundles. */
export function bundleSelector(selection: BundleSelection): string {
  return 'name' in selection ? `metadata.name=${selection.name}` : `spec.signerName=${selection.signerName}`;
}

/** Reads claims, volumes and Nodes from the API on each call. */
export function apiClaimSource(client: Pick<ObjectReader, 'get'>): ClaimSource {
  const global = (name: string) => ({ namespace: '', name });
  return {
    claim: (namespace, name, signal) =>
      ignoreNotFound(client.get(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, signal)),
    volume: (name, signal) => ignoreNotFound(client.get(PERSISTENT_VOLUMES, global(name), signal)),
    node: (name, signal) => ignoreNotFound(client.get(NODES, global(name), signal)),
  };
}
