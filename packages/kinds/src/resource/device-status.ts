import { append } from '@gantry/base';
import { isIP } from 'node:net';
import {
  type AllocatedDeviceStatus,
  type AllocationResult,
  type DeviceAllocationConfiguration,
  type DeviceRequestAllocationResult,
  type FieldError,
  type NetworkDeviceData,
  type ResourceClaimConsumerReference,
  type ResourceResourceClaim,
  equalJson,
  forbidden,
  invalid,
  required,
  tooLong,
} from '@gantry/objects';
import { validateNodeSelector } from '../pod-spec/affinity.ts';
import { validateConditions } from '../fields/conditions.ts';
import { requestNames, validateReference, validateReferences } from './device-claim.ts';
import { MAX_CONFIGS, validateDeviceConfiguration, validateRaw } from './device-config.ts';
import {
  validateBindingConditions,
  validateDnsLabel,
  validateDriverName,
  validatePoolName,
  validateShareId,
} from './device-names.ts';
import { IMMUTABLE, unsupported } from '@gantry/apimachinery';
import { tooMany, validateDistinct, validateEach } from '../fields/bounded-lists.ts';

const MAX_RESERVED = 256;
const MAX_RESULTS = 32;
const MAX_DEVICE_CONDITIONS = 8;
const MAX_INTERFACE_NAME = 256;
const MAX_HARDWARE_ADDRESS = 128;
const MAX_ADDRESSES = 16;

/** Identifies a device, or one share of it. */
interface DeviceId {
  readonly driver?: string;
  readonly pool?: string;
  readonly device?: string;
  readonly shareID?: string;
}

export function deviceKey({ driver = '', pool = '', device = '', shareID }: DeviceId): string {
  return `${driver}/${pool}/${device}${shareID === undefined ? '' : `/${shareID}`}`;
}

function printedDevice({ driver = '', pool = '', device = '', shareID = '' }: DeviceId): object {
  return { Driver: driver, Pool: pool, Device: device, ShareID: shareID };
}

/** Checks the allocation of a claim and its users. */
export function validateClaimStatus(object: ResourceResourceClaim, old: ResourceResourceClaim): FieldError[] {
  const { allocation, devices, reservedFor = [] } = object.status ?? {};
  const allocated = new Set((allocation?.devices?.results ?? []).map(deviceKey));
  const each = (device: AllocatedDeviceStatus, at: string) => validateDevice(device, at, allocated);
  const errors = [
    ...validateDistinct(reservedFor, MAX_RESERVED, 'status.reservedFor', validateConsumer, {
      of: ({ uid }) => uid ?? '',
    }),
    ...validateDistinct(devices, Number.POSITIVE_INFINITY, 'status.devices', each, {
      of: deviceKey,
      printed: printedDevice,
    }),
  ];
  if (reservedFor.length > 0 && allocation === undefined) {
    errors.push(forbidden('status.reservedFor', 'may not be specified when `allocated` is not set'));
  } else if (object.metadata.deletionTimestamp !== undefined) {
    const before = old.status?.reservedFor ?? [];
    const known = new Set(before.map(consumerText));
    if (reservedFor.some((one) => !known.has(consumerText(one)))) {
      const detail = 'new entries may not be added while `deallocationRequested` or `deletionTimestamp` are set';
      errors.push(forbidden('status.reservedFor', detail));
    }
  }
  const before = old.status?.allocation;
  if (allocation === undefined) return errors;
  if (before === undefined) return [...errors, ...validateAllocation(allocation, object)];
  return equalJson(allocation, before) ? errors : [...errors, invalid('status.allocation', allocation, IMMUTABLE)];
}

function consumerText({ apiGroup, resource, name, uid }: ResourceClaimConsumerReference): string {
  return JSON.stringify([apiGroup ?? null, resource ?? null, name ?? null, uid ?? null]);
}

function validateConsumer(reference: ResourceClaimConsumerReference, path: string): FieldError[] {
  return (['resource', 'name', 'uid'] as const)
    .filter((field) => (reference[field] ?? '') === '')
    .map((field) => required(`${path}.${field}`));
}

function validateAllocation(
  { devices, nodeSelector }: AllocationResult,
  { spec }: ResourceResourceClaim,
): FieldError[] {
  const names = requestNames(spec?.devices);
  const path = 'status.allocation';
  return [
    ...validateEach(devices?.results, MAX_RESULTS, `${path}.devices.results`, (result, at) =>
      validateResult(result, at, names),
    ),
    ...validateEach(devices?.config, 2 * MAX_CONFIGS, `${path}.devices.config`, (config, at) =>
      validateAllocatedConfig(config, at, names),
    ),
    ...(nodeSelector === undefined ? [] : validateNodeSelector(nodeSelector, `${path}.nodeSelector`)),
  ];
}

function validateResult(result: DeviceRequestAllocationResult, path: string, names: ReadonlySet<string>): FieldError[] {
  return [
    ...validateReference(result.request ?? '', `${path}.request`, names),
    ...validateDriverName(result.driver ?? '', `${path}.driver`),
    ...validatePoolName(result.pool ?? '', `${path}.pool`),
    ...validateDnsLabel(result.device ?? '', `${path}.device`),
    ...validateBindingConditions(result, path),
    ...validateShareId(result.shareID, `${path}.shareID`),
  ];
}

function validateAllocatedConfig(
  config: DeviceAllocationConfiguration,
  path: string,
  names: ReadonlySet<string>,
): FieldError[] {
  const { source = '', requests } = config;
  const known = ['FromClaim', 'FromClass'];
  const errors: FieldError[] = [];
  if (source === '') errors.push(required(`${path}.source`));
  else if (!known.includes(source)) errors.push(unsupported(`${path}.source`, source, known));
  const references = validateReferences(requests, `${path}.requests`, names);
  return [...errors, ...references, ...validateDeviceConfiguration(config, path)];
}

function validateDevice(device: AllocatedDeviceStatus, path: string, allocated: ReadonlySet<string>): FieldError[] {
  const { conditions = [], data, networkData } = device;
  const errors = [
    ...validateDriverName(device.driver ?? '', `${path}.driver`),
    ...validatePoolName(device.pool ?? '', `${path}.pool`),
    ...validateDnsLabel(device.device ?? '', `${path}.device`),
    ...validateShareId(device.shareID, `${path}.shareID`),
  ];
  if (!allocated.has(deviceKey(device))) {
    errors.push(invalid(path, printedDevice(device), 'must be an allocated device in the claim'));
  }
  if (conditions.length > MAX_DEVICE_CONDITIONS) {
    errors.push(tooMany(`${path}.conditions`, conditions.length, MAX_DEVICE_CONDITIONS));
  }
  append(errors, validateConditions(conditions, `${path}.conditions`));
  if (data !== undefined) append(errors, validateRaw(data, `${path}.data`));
  return networkData === undefined ? errors : [...errors, ...validateNetwork(networkData, `${path}.networkData`)];
}

function validateNetwork(data: NetworkDeviceData, path: string): FieldError[] {
  const { interfaceName = '', hardwareAddress = '', ips } = data;
  const errors: FieldError[] = [];
  if (interfaceName.length > MAX_INTERFACE_NAME) errors.push(tooLong(`${path}.interfaceName`, MAX_INTERFACE_NAME));
  if (hardwareAddress.length > MAX_HARDWARE_ADDRESS) {
    errors.push(tooLong(`${path}.hardwareAddress`, MAX_HARDWARE_ADDRESS));
  }
  return [
    ...errors,
    ...validateDistinct(ips, MAX_ADDRESSES, `${path}.ips`, validateInterfaceAddress, { of: (ip) => ip }),
  ];
}

const CIDR_FORM = /^([0-9a-fA-F:.]+)\/([0-9]{1,3})$/;

function validateInterfaceAddress(value: string, path: string): FieldError[] {
  const [, address = '', bits = ''] = CIDR_FORM.exec(value) ?? [];
  const family = isIP(address);
  if (family === 0 || Number(bits) > (family === 4 ? 32 : 128)) {
    const detail = 'must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)';
    return [invalid(path, value, detail)];
  }
  const canonical = `${family === 4 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1)}/${Number(bits)}`;
  return value === canonical ? [] : [invalid(path, value, `must be in canonical form (${JSON.stringify(canonical)})`)];
}
