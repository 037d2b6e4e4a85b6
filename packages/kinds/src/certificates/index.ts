import type { ResourceDefinition } from '@gantry/apimachinery';
import { certificateSigningRequests } from './certificate-signing-request.ts';
import { clusterTrustBundles } from './cluster-trust-bundle.ts';

/** The kinds of `certificates.k8s.io`, in discovery's order. */
export const certificatesKinds: readonly ResourceDefinition[] = [certificateSigningRequests];

/** Kinds that are served only if the cluster's settings enable them. */
export const optionalCertificatesKinds: readonly ResourceDefinition[] = [clusterTrustBundles];
