/** The resources that controllers read and write. */
export const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
export const REPLICA_SETS = { group: 'apps', version: 'v1', resource: 'replicasets' } as const;
export const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' } as const;
