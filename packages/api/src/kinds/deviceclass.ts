import { type FieldError, invalid } from '../field-error.ts';
import type { DeviceClass } from '../generated/types.ts';
import type { ResourceDefinition } from '../resource.ts';
import { ageColumn, nameColumn } from './columns.ts';
import { MAX_CONFIGS, validateDeviceConfiguration } from './rules/device-config.ts';
import { validateSelectors } from './rules/device-selector.ts';
import { longName, qualifiedName } from './rules/names.ts';
import { validateEach } from './rules/sized.ts';
import { STORED_VERBS } from './verbs.ts';

function validate({ spec }: DeviceClass): FieldError[] {
  const { selectors, config, extendedResourceName } = spec ?? {};
  const errors = [
    ...validateSelectors(selectors, 'spec.selectors'),
    ...validateEach(config, MAX_CONFIGS, 'spec.config', validateDeviceConfiguration),
  ];
  if (extendedResourceName !== undefined && !isExtendedResource(extendedResourceName)) {
    const detail = 'must be a valid extended resource name';
    errors.push(invalid('spec.extendedResourceName', extendedResourceName, detail));
  }
  return errors;
}

/** A resource that pods may ask for by a name outside Kubernetes' own domain. */
function isExtendedResource(name: string): boolean {
  const native = !name.includes('/') || name.includes('kubernetes.io/');
  return !native && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;
}

export const deviceClasses: ResourceDefinition<DeviceClass> = {
  group: 'resource.k8s.io',
  version: 'v1',
  kind: 'DeviceClass',
  resource: 'deviceclasses',
  singular: 'deviceclass',
  shortNames: [],
  categories: [],
  namespaced: false,
  schema: 'resource.v1.DeviceClass',
  verbs: STORED_VERBS,
  strategy: { validateName: longName, validate, metadataOnUpdate: 'whole first', hasGeneration: true },
  subresources: [],
  columns: [nameColumn, ageColumn],
  selectableFields: {},
  stored: true,
};
