import type { ResourceRef } from '@gantry/api';

export const NODES: ResourceRef = { group: '', version: 'v1', resource: 'nodes' };
export const DEPLOYMENTS: ResourceRef = { group: 'apps', version: 'v1', resource: 'deployments' };
export const LEASES: ResourceRef = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' };
