import type { ServiceAccount } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, nameColumn } from './columns.ts';
import { STORED_VERBS } from './verbs.ts';

export const serviceAccounts: ResourceDefinition<ServiceAccount> = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  shortNames: ['sa'],
  categories: [],
  namespaced: true,
  schema: 'core.v1.ServiceAccount',
  verbs: STORED_VERBS,
  strategy: {},
  subresources: [
    { name: 'token', group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest', verbs: ['create'] },
  ],
  // Kubernetes 1.36 no longer counts secrets here.
  columns: [nameColumn, ageColumn],
  selectableFields: {},
  stored: true,
};
