import type { ResourceDefinition } from '@gantry/apimachinery';
import { certificateSigningRequests } from './certificate-signing-request.ts';

/** The kinds of `certificates.k8s.io`, in discovery's order. */
export const certificatesKinds: readonly ResourceDefinition[] = [certificateSigningRequests];
