import { COMPONENT_STATUSES, type ComponentStatus } from '@gantry/objects';
import { column, defineResource, nameColumn } from '@gantry/apimachinery';

function healthy({ conditions = [] }: ComponentStatus): NonNullable<ComponentStatus['conditions']>[number] | undefined {
  return conditions.find(({ type }) => type === 'Healthy');
}

function statusText(object: ComponentStatus): string {
  const condition = healthy(object);
  if (condition === undefined) return 'Unknown';
  return condition.status === 'True' ? 'Healthy' : 'Unhealthy';
}

/** The state of the cluster's components, requested from them for each request. */
export const componentStatuses = defineResource(COMPONENT_STATUSES, {
  shortNames: ['cs'],
  schema: 'core.v1.ComponentStatus',
  requestWarnings: ['v1 ComponentStatus is deprecated in v1.19+'],
  verbs: ['get', 'list'],
  strategy: {},
  columns: [
    nameColumn,
    column('Status', 'Status of the component conditions', statusText),
    column('Message', 'Message of the component conditions', (object) => healthy(object)?.message ?? ''),
    column('Error', 'Error of the component conditions', (object) => healthy(object)?.error ?? ''),
  ],
  stored: false,
});
