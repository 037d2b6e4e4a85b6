/** The resources that controllers read and write. */
export const PODS = { group: '', version: 'v1', resource: 'pods' } as const;
export const REPLICA_SETS = { group: 'apps', version: 'v1', resource: 'replicasets' } as const;
export const DEPLOYMENTS = { group: 'apps', version: 'v1', resource: 'deployments' } as const;
export const NAMESPACES = { group: '', version: 'v1', resource: 'namespaces' } as const;
export const NODES = { group: '', version: 'v1', resource: 'nodes' } as const;
export const CONFIG_MAPS = { group: '', version: 'v1', resource: 'configmaps' } as const;
export const SECRETS = { group: '', version: 'v1', resource: 'secrets' } as const;
export const SERVICE_ACCOUNTS = { group: '', version: 'v1', resource: 'serviceaccounts' } as const;
export const LEASES = { group: 'coordination.k8s.io', version: 'v1', resource: 'leases' } as const;
export const CERTIFICATE_REQUESTS = {
  group: 'certificates.k8s.io',
  version: 'v1',
  resource: 'certificatesigningrequests',
} as const;
export const CLUSTER_ROLES = { group: 'rbac.authorization.k8s.io', version: 'v1', resource: 'clusterroles' } as const;
export const CLAIMS = { group: '', version: 'v1', resource: 'persistentvolumeclaims' } as const;
export const VOLUMES = { group: '', version: 'v1', resource: 'persistentvolumes' } as const;
export const VOLUME_ATTRIBUTES = {
  group: 'storage.k8s.io',
  version: 'v1',
  resource: 'volumeattributesclasses',
} as const;
