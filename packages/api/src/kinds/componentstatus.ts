import type { ComponentStatus } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { column, nameColumn } from './columns.ts';

function healthy({ conditions = [] }: ComponentStatus): NonNullable<ComponentStatus['conditions']>[number] | undefined {
  return conditions.find(({ type }) => type === 'Healthy');
}

function statusText(object: ComponentStatus): string {
  const condition = healthy(object);
  if (condition === undefined) return 'Unknown';
  return condition.status === 'True' ? 'Healthy' : 'Unhealthy';
}

/** How the cluster's own parts are: read from them whenever somebody asks. */
export const componentStatuses: ResourceDefinition<ComponentStatus> = {
  group: '',
  version: 'v1',
  kind: 'ComponentStatus',
  resource: 'componentstatuses',
  singular: 'componentstatus',
  shortNames: ['cs'],
  categories: [],
  namespaced: false,
  schema: 'core.v1.ComponentStatus',
  requestWarnings: ['v1 ComponentStatus is deprecated in v1.19+'],
  verbs: ['get', 'list'],
  strategy: {},
  subresources: [],
  columns: [
    nameColumn,
    column('Status', 'Status of the component conditions', statusText),
    column('Message', 'Message of the component conditions', (object) => healthy(object)?.message ?? ''),
    column('Error', 'Error of the component conditions', (object) => healthy(object)?.error ?? ''),
  ],
  selectableFields: {},
  stored: false,
};
