import type { KubeObject } from './object.ts';
import type { Resource } from './resource-ref.ts';

/** certificates.k8s.io/v1beta1 ClusterTrustBundle. Kubernetes 1.36 publishes no schema of it unless it serves it. */
export interface ClusterTrustBundle extends KubeObject {
  spec: {
    /** The signer whose certificates these anchors verify; absent for anchors without a signer. */
    signerName?: string;
    /** Certificates in PEM. */
    trustBundle: string;
  };
}

export const CLUSTER_TRUST_BUNDLES: Resource<ClusterTrustBundle> = {
  group: 'certificates.k8s.io',
  version: 'v1beta1',
  resource: 'clustertrustbundles',
  kind: 'ClusterTrustBundle',
  namespaced: false,
};
