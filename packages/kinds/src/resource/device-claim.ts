import {
  type DeviceClaim,
  type DeviceClaimConfiguration,
  type DeviceConstraint,
  type DeviceRequest,
  type DeviceSubRequest,
  type ExactDeviceRequest,
  type FieldError,
  type ResourceClaimSpec,
  invalid,
  required,
} from '@gantry/objects';
import { MAX_CONFIGS, validateDeviceConfiguration, validateDeviceToleration } from './device-config.ts';
import { validateDeviceClassName, validateDnsLabel, validateFullAttributeName } from './device-names.ts';
import { validateSelectors } from './device-selector.ts';
import { unsupported } from '@gantry/apimachinery';
import { validateDistinct, validateEach } from '../fields/bounded-lists.ts';

const MAX_REQUESTS = 32;
const MAX_CONSTRAINTS = 32;
const MAX_ALTERNATIVES = 8;
const REFERENCE =
  "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'";

/** Defaults of the allocation mode and the count. */
export function defaultClaimSpec(spec: ResourceClaimSpec | undefined): void {
  for (const { exactly, firstAvailable } of spec?.devices?.requests ?? []) {
    for (const request of [...(exactly === undefined ? [] : [exactly]), ...(firstAvailable ?? [])]) {
      if ((request.allocationMode ?? '') === '') request.allocationMode = 'ExactCount';
      if (request.allocationMode === 'ExactCount' && (request.count ?? 0) === 0) request.count = 1;
    }
  }
}

/** Names that other parts of a claim can refer to: requests, and `request/alternative`. */
export function requestNames(devices: DeviceClaim | undefined): ReadonlySet<string> {
  return new Set(
    (devices?.requests ?? []).flatMap(({ name, firstAvailable }) => [
      name,
      ...(firstAvailable ?? []).map((alternative) => `${name}/${alternative.name}`),
    ]),
  );
}

export function validateClaimSpec(spec: ResourceClaimSpec | undefined, path: string): FieldError[] {
  const devices = spec?.devices ?? {};
  const at = `${path}.devices`;
  const names = requestNames(devices);
  return [
    ...validateDistinct(devices.requests, MAX_REQUESTS, `${at}.requests`, validateRequest, {
      of: ({ name }) => name ?? '',
    }),
    ...validateEach(devices.constraints, MAX_CONSTRAINTS, `${at}.constraints`, (one, where) =>
      validateConstraint(one, where, names),
    ),
    ...validateEach(devices.config, MAX_CONFIGS, `${at}.config`, (one: DeviceClaimConfiguration, where) => [
      ...validateReferences(one.requests, `${where}.requests`, names),
      ...validateDeviceConfiguration(one, where),
    ]),
  ];
}

function validateRequest({ name = '', exactly, firstAvailable = [] }: DeviceRequest, path: string): FieldError[] {
  const errors = validateDnsLabel(name, `${path}.name`);
  const one = 'exactly one of `exactly` or `firstAvailable` is required';
  if (exactly === undefined && firstAvailable.length === 0) return [...errors, required(path, one)];
  if (exactly !== undefined && firstAvailable.length > 0) {
    return [...errors, invalid(path, null, `${one}, but multiple fields are set`)];
  }
  if (exactly !== undefined) return [...errors, ...validateExact(exactly, `${path}.exactly`)];
  const each = (request: DeviceSubRequest, at: string) => [
    ...validateDnsLabel(request.name ?? '', `${at}.name`),
    ...validateExact(request, at),
  ];
  const at = `${path}.firstAvailable`;
  return [
    ...errors,
    ...validateDistinct(firstAvailable, MAX_ALTERNATIVES, at, each, { of: (request) => request.name ?? '' }),
  ];
}

function validateExact(request: ExactDeviceRequest | DeviceSubRequest, path: string): FieldError[] {
  const { deviceClassName = '', selectors, allocationMode = '', count = 0, tolerations = [] } = request;
  return [
    ...validateDeviceClassName(deviceClassName, `${path}.deviceClassName`),
    ...validateSelectors(selectors, `${path}.selectors`),
    ...validateCount(allocationMode, count, path),
    ...tolerations.flatMap((one, i) => validateDeviceToleration(one, `${path}.tolerations[${i}]`)),
  ];
}

function validateCount(mode: string, count: number, path: string): FieldError[] {
  switch (mode) {
    case 'All':
      return count === 0
        ? []
        : [invalid(`${path}.count`, count, `must not be specified when allocationMode is '${mode}'`)];
    case 'ExactCount':
      return count > 0 ? [] : [invalid(`${path}.count`, count, 'must be greater than zero')];
    default:
      return [unsupported(`${path}.allocationMode`, mode, ['All', 'ExactCount'])];
  }
}

function validateConstraint(constraint: DeviceConstraint, path: string, names: ReadonlySet<string>): FieldError[] {
  const { requests, matchAttribute, distinctAttribute } = constraint;
  const errors = validateReferences(requests, `${path}.requests`, names);
  if (matchAttribute !== undefined) {
    return [...errors, ...validateFullAttributeName(matchAttribute, `${path}.matchAttribute`)];
  }
  if (distinctAttribute !== undefined) {
    return [...errors, ...validateFullAttributeName(distinctAttribute, `${path}.distinctAttribute`)];
  }
  const detail = 'exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set';
  return [...errors, required(path, detail)];
}

/** Checks references to requests of the same claim; each may occur once. */
export function validateReferences(
  references: readonly string[] | undefined,
  path: string,
  names: ReadonlySet<string>,
): FieldError[] {
  const each = (name: string, at: string) => validateReference(name, at, names);
  return validateDistinct(references, MAX_REQUESTS, path, each, { of: (name) => name });
}

export function validateReference(name: string, path: string, names: ReadonlySet<string>): FieldError[] {
  const parts = name.split('/');
  if (parts.length > 2) return [invalid(path, name, REFERENCE)];
  const errors = parts.flatMap((part) => validateDnsLabel(part, path));
  return names.has(name) ? errors : [...errors, invalid(path, name, REFERENCE)];
}
