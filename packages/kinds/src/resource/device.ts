import { append } from '@gantry/base';
import {
  type Counter,
  type Device,
  type DeviceAttribute,
  type DeviceCapacity,
  type DeviceCounterConsumption,
  type FieldError,
  dns1123Subdomain,
  equalJson,
  forbidden,
  invalid,
  required,
  tooLong,
} from '@gantry/objects';
import { validateNodeSelector } from '../pod-spec/affinity.ts';
import { validateRequestPolicy } from './capacity-policy.ts';
import { validateDeviceTaint } from './device-config.ts';
import { validateAttributeName, validateBindingConditions, validateDnsLabel } from './device-names.ts';
import { invalidAll } from '@gantry/apimachinery';
import { validateDistinct, validateEach, validateEntries } from '../fields/bounded-lists.ts';

const MAX_ENTRIES = 32;
const MAX_VALUES = 48;
const MAX_TAINTS = 16;
const MAX_CONSUMPTIONS = 2;
const MAX_COUNTERS = 32;
const MAX_TEXT = 64;
const NAME_LENGTH = 63 + 1 + 32;
const VERSION =
  /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)(\.(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*))*)?(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?$/;

/** Checks one device of a slice. `selection` tells where the nodes with access to it are named. */
export function validateDevice(
  device: Device,
  old: Device | undefined,
  path: string,
  selection: 'device' | 'slice',
): FieldError[] {
  const { attributes = {}, capacity = {}, taints } = device;
  const errors = validateDnsLabel(device.name ?? '', `${path}.name`);
  const entries = Object.keys(attributes).length + Object.keys(capacity).length;
  if (entries > MAX_ENTRIES) {
    const detail = `the total number of attributes and capacities must not exceed ${MAX_ENTRIES}`;
    errors.push(invalid(path, entries, detail));
  }
  const values = Object.keys(attributes).length;
  if (values > MAX_VALUES) {
    errors.push(invalid(path, values, `the total number of attribute values must not exceed ${MAX_VALUES}`));
  }
  const limits = { max: Number.POSITIVE_INFINITY, keyLength: NAME_LENGTH };
  const each = device.allowMultipleAllocations === true ? validateShared : validateWhole;
  append(errors, [
    ...validateEntries(attributes, limits, `${path}.attributes`, validateAttributeName, validateAttribute),
    ...validateEntries(capacity, limits, `${path}.capacity`, validateAttributeName, each),
  ]);
  if (old === undefined || !equalJson(old.taints ?? [], taints ?? [])) {
    append(errors, validateEach(taints, MAX_TAINTS, `${path}.taints`, validateDeviceTaint));
  }
  const setOf = ({ counterSet }: DeviceCounterConsumption) => counterSet ?? '';
  append(errors, [
    ...validateDistinct(device.consumesCounters, MAX_CONSUMPTIONS, `${path}.consumesCounters`, validateUse, {
      of: setOf,
    }),
    ...(selection === 'device' ? validateOwnNodes(device, path) : validateNoNodes(device, path)),
  ]);
  return [...errors, ...validateBindingConditions(device, path)];
}

function validateUse({ counterSet = '', counters }: DeviceCounterConsumption, path: string): FieldError[] {
  const errors =
    counterSet === '' ? [required(`${path}.counterSet`)] : validateDnsLabel(counterSet, `${path}.counterSet`);
  return [...errors, ...validateCounters(counters, `${path}.counters`)];
}

/** Checks amounts by name, of a shared counter set or of a device's consumption. */
export function validateCounters(
  counters: Readonly<Record<string, Counter>> | null | undefined,
  path: string,
): FieldError[] {
  if (Object.keys(counters ?? {}).length === 0) return [required(path)];
  return validateEntries(counters ?? {}, { max: MAX_COUNTERS, keyLength: 63 }, path, validateDnsLabel, () => []);
}

function validateAttribute(attribute: DeviceAttribute, path: string): FieldError[] {
  const { string, version } = attribute;
  const errors: FieldError[] = [];
  if (string !== undefined && Buffer.byteLength(string) > MAX_TEXT) errors.push(tooLong(`${path}.string`, MAX_TEXT));
  if (version !== undefined) {
    if (!VERSION.test(version)) {
      errors.push(invalid(`${path}.version`, version, 'must be a string compatible with semver.org spec 2.0.0'));
    }
    if (version.length > MAX_TEXT) errors.push(tooLong(`${path}.version`, MAX_TEXT));
  }
  const given = (['bool', 'int', 'string', 'version'] as const).filter((field) => attribute[field] !== undefined);
  if (given.length === 1) return errors;
  return [...errors, invalid(path, given.length === 0 ? '' : attribute, 'exactly one value must be specified')];
}

function validateShared({ value, requestPolicy }: DeviceCapacity, path: string): FieldError[] {
  return requestPolicy === undefined ? [] : validateRequestPolicy(value ?? '0', requestPolicy, `${path}.requestPolicy`);
}

function validateWhole({ requestPolicy }: DeviceCapacity, path: string): FieldError[] {
  return requestPolicy === undefined
    ? []
    : [forbidden(`${path}.requestPolicy`, 'allowMultipleAllocations must be true')];
}

function validateNoNodes({ nodeName, nodeSelector, allNodes }: Device, path: string): FieldError[] {
  if (nodeName === undefined && nodeSelector === undefined && allNodes === undefined) return [];
  const fields = '`nodeName`, `nodeSelector` and `allNodes`';
  const detail = `${fields} can only be set if \`perDeviceNodeSelection\` is set to true in the ResourceSlice spec`;
  return [invalid(path, null, detail)];
}

function validateOwnNodes({ nodeName, nodeSelector, allNodes }: Device, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const given: string[] = [];
  if (nodeName === '') errors.push(invalid(`${path}.nodeName`, nodeName, 'must not be empty'));
  else if (nodeName !== undefined) {
    given.push('`nodeName`');
    append(errors, invalidAll(`${path}.nodeName`, nodeName, dns1123Subdomain(nodeName)));
  }
  if (nodeSelector !== undefined) {
    given.push('`nodeSelector`');
    append(errors, validateNodeSelector(nodeSelector, `${path}.nodeSelector`));
  }
  if (allNodes === true) given.push('`allNodes`');
  else if (allNodes === false) errors.push(invalid(`${path}.allNodes`, false, 'must be either unset or set to true'));
  const detail =
    'exactly one of `nodeName`, `nodeSelector`, or `allNodes` is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec';
  if (given.length === 0) errors.push(required(path, detail));
  else if (given.length > 1) errors.push(invalid(path, `{${given.join(', ')}}`, detail));
  return errors;
}
