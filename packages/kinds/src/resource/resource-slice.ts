import { append, formatTime, type Instant } from '@gantry/base';
import {
  type CounterSet,
  type Device,
  type FieldError,
  RESOURCE_SLICES,
  type ResourceSlice,
  type ResourceSliceSpec,
  dns1123Subdomain,
  invalid,
  required,
} from '@gantry/objects';
import { IMMUTABLE, ageColumn, defineResource, invalidAll, nameColumn, fieldColumn } from '@gantry/apimachinery';
import { validateNodeSelector } from '../pod-spec/affinity.ts';
import { validateCounters, validateDevice } from './device.ts';
import { validateDnsLabel, validateDriverName, validatePoolName } from './device-names.ts';
import { validateDistinct } from '../fields/bounded-lists.ts';

const MAX_DEVICES = 128;
const MAX_ADVANCED_DEVICES = 64;
const MAX_COUNTER_SETS = 8;

/** Sets the time of taints, and drops fields of features that are off in Kubernetes. */
function prepare({ spec }: ResourceSlice, now: Instant): void {
  for (const device of spec?.devices ?? []) {
    delete device.nodeAllocatableResourceMappings;
    for (const attribute of Object.values(device.attributes ?? {})) {
      for (const field of ['bools', 'ints', 'strings', 'versions'] as const) delete attribute[field];
    }
    for (const taint of device.taints ?? []) taint.timeAdded ??= formatTime(now);
  }
}

function validateCreate(object: ResourceSlice): FieldError[] {
  return validateSpec(object.spec, undefined);
}

function validateSpec(spec: Partial<ResourceSliceSpec> = {}, old: ResourceSliceSpec | undefined): FieldError[] {
  const { driver = '', pool, devices, sharedCounters, perDeviceNodeSelection } = spec;
  const errors = [...validateDriverName(driver, 'spec.driver'), ...validatePool(pool)];
  if (old !== undefined) append(errors, validateSame(spec, old));
  append(errors, validateNodes(spec));
  if (sharedCounters !== undefined && devices !== undefined) {
    errors.push(invalid('spec', '', 'only one of `sharedCounters` or `devices` is allowed'));
  }
  const advanced = (devices ?? []).some(
    ({ taints = [], consumesCounters = [] }) => taints.length + consumesCounters.length > 0,
  );
  const each = (device: Device, path: string) => {
    const before = old?.devices?.find(({ name }) => name === device.name);
    return validateDevice(device, before, path, perDeviceNodeSelection === true ? 'device' : 'slice');
  };
  const name = (item: { name?: string }) => item.name ?? '';
  const max = advanced ? MAX_ADVANCED_DEVICES : MAX_DEVICES;
  return [
    ...errors,
    ...validateDistinct(devices, max, 'spec.devices', each, { of: name }),
    ...validateDistinct(sharedCounters, MAX_COUNTER_SETS, 'spec.sharedCounters', validateCounterSet, { of: name }),
  ];
}

function validateCounterSet({ name = '', counters }: CounterSet, path: string): FieldError[] {
  const errors = name === '' ? [required(`${path}.name`)] : validateDnsLabel(name, `${path}.name`);
  return [...errors, ...validateCounters(counters, `${path}.counters`)];
}

function validatePool(pool: Partial<ResourceSliceSpec['pool']> = {}): FieldError[] {
  const { name = '', resourceSliceCount = 0, generation = 0 } = pool;
  const errors = validatePoolName(name, 'spec.pool.name');
  if (resourceSliceCount <= 0) {
    errors.push(invalid('spec.pool.resourceSliceCount', resourceSliceCount, 'must be greater than zero'));
  }
  if (generation < 0) {
    errors.push(invalid('spec.pool.generation', generation, 'must be greater than or equal to zero'));
  }
  return errors;
}

/** Driver and node of a slice are immutable: clients select slices by them. */
function validateSame({ pool, driver, nodeName }: Partial<ResourceSliceSpec>, old: ResourceSliceSpec): FieldError[] {
  const fields = [
    ['spec.pool.name', pool?.name ?? '', old.pool?.name ?? ''],
    ['spec.driver', driver ?? '', old.driver ?? ''],
    ['spec.nodeName', nodeName ?? null, old.nodeName ?? null],
  ] as const;
  return fields.flatMap(([path, value, before]) => (value === before ? [] : [invalid(path, value, IMMUTABLE)]));
}

function validateNodes(spec: Partial<ResourceSliceSpec>): FieldError[] {
  const { nodeName, nodeSelector, allNodes, perDeviceNodeSelection } = spec;
  const errors: FieldError[] = [];
  const given: string[] = [];
  if (nodeName === '') {
    errors.push(invalid('spec.nodeName', nodeName, 'must be either unset or set to a non-empty string'));
  } else if (nodeName !== undefined) {
    given.push('`nodeName`');
    append(errors, invalidAll('spec.nodeName', nodeName, dns1123Subdomain(nodeName)));
  }
  if (nodeSelector !== undefined) {
    given.push('`nodeSelector`');
    append(errors, validateNodeSelector(nodeSelector, 'spec.nodeSelector'));
    const terms = nodeSelector.nodeSelectorTerms ?? [];
    if (terms.length !== 1) {
      const detail = 'must have exactly one node selector term';
      errors.push(invalid('spec.nodeSelector.nodeSelectorTerms', terms, detail));
    }
  }
  for (const [field, value] of Object.entries({ allNodes, perDeviceNodeSelection })) {
    if (value === true) given.push(`\`${field}\``);
    else if (value === false) errors.push(invalid(`spec.${field}`, false, 'must be either unset or set to true'));
  }
  const one = 'exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required';
  if (given.length === 0) errors.push(required('spec', one));
  if (given.length > 1) errors.push(invalid('spec', `{${given.join(', ')}}`, `${one}, but multiple fields are set`));
  return errors;
}

export const resourceSlices = defineResource(RESOURCE_SLICES, {
  schema: 'resource.v1.ResourceSlice',
  strategy: {
    prepareForCreate: (object, { now }) => prepare(object, now),
    prepareForUpdate: (object, _old, { now }) => prepare(object, now),
    validateCreate,
    validateUpdate: (object, old) => validateSpec(object.spec, old.spec),
    metadataOnUpdate: 'change',
    warnings: ({ spec: { driver = '' } }) =>
      driver === driver.toLowerCase()
        ? []
        : [`spec.driver: driver names should be lowercase; ${JSON.stringify(driver)} contains uppercase characters`],
    hasGeneration: true,
  },
  columns: [
    nameColumn,
    fieldColumn('Node', 'resource.v1.ResourceSliceSpec', 'spec.nodeName'),
    fieldColumn('Driver', 'resource.v1.ResourceSliceSpec', 'spec.driver'),
    fieldColumn('Pool', 'resource.v1.ResourcePool', 'spec.pool.name'),
    ageColumn,
  ],
  fieldSelectorError: (field, apiVersion) =>
    `field label not supported for ${apiVersion}, Kind=ResourceSlice: ${field}`,
  selectableFields: {
    'spec.nodeName': ({ spec }) => spec?.nodeName ?? '',
    'spec.driver': ({ spec }) => spec?.driver ?? '',
  },
});
