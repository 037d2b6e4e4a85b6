import { isNative } from '../pod-spec/compute-resources.ts';
import { DEVICE_CLASSES, type DeviceClass, type FieldError, invalid, longName, qualifiedName } from '@gantry/objects';
import { ageColumn, defineResource, nameColumn } from '@gantry/apimachinery';
import { MAX_CONFIGS, validateDeviceConfiguration } from './device-config.ts';
import { validateSelectors } from './device-selector.ts';
import { validateEach } from '../fields/bounded-lists.ts';

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

/** Whether a name is that of an extended resource, outside Kubernetes' own domains. */
function isExtendedResource(name: string): boolean {
  return !isNative(name) && !name.startsWith('requests.') && qualifiedName(`requests.${name}`).length === 0;
}

export const deviceClasses = defineResource(DEVICE_CLASSES, {
  schema: 'resource.v1.DeviceClass',
  strategy: {
    deletionResponse: 'object',
    validateName: longName,
    validate,
    metadataOnUpdate: 'whole first',
    hasGeneration: true,
  },
  columns: [nameColumn, ageColumn],
});
