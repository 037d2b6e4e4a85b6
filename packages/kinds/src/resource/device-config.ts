import { append } from '@gantry/base';
import {
  type DeviceToleration,
  type FieldError,
  type OpaqueDeviceConfiguration,
  invalid,
  required,
  tooLong,
} from '@gantry/objects';
import { unsupported } from '@gantry/apimachinery';
import { validateDriverName, validateLabelKey, validateLabelText } from './device-names.ts';

export const MAX_CONFIGS = 32;
const MAX_PARAMETERS_BYTES = 10 * 1024;
const EFFECTS = ['NoExecute', 'NoSchedule', 'None'];

/** Checks the opaque configuration of devices for a driver. */
export function validateDeviceConfiguration(
  config: { readonly opaque?: OpaqueDeviceConfiguration },
  path: string,
): FieldError[] {
  const { opaque } = config;
  if (opaque === undefined) return [required(`${path}.opaque`)];
  return [
    ...validateDriverName(opaque.driver ?? '', `${path}.opaque.driver`),
    ...validateRaw(opaque.parameters, `${path}.opaque.parameters`),
  ];
}

/** Checks an object of any content up to a maximum size. */
export function validateRaw(value: unknown, path: string): FieldError[] {
  if (value === undefined || value === null) return [required(path)];
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_PARAMETERS_BYTES) return [tooLong(path, MAX_PARAMETERS_BYTES)];
  if (typeof value === 'object' && !Array.isArray(value)) return [];
  return [invalid(path, '<value omitted>', 'must be a valid JSON object')];
}

/** Checks a request's toleration of device taints. */
export function validateDeviceToleration(toleration: DeviceToleration, path: string): FieldError[] {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  const errors = key === '' ? [] : validateLabelKey(key, `${path}.key`);
  switch (operator) {
    case 'Exists':
      if (value !== '') errors.push(invalid(`${path}.value`, value, 'must be empty for operator `Exists`'));
      break;
    case 'Equal':
      append(errors, validateLabelText(value, `${path}.value`));
      break;
    case '':
      errors.push(required(`${path}.operator`));
      break;
    default:
      errors.push(unsupported(`${path}.operator`, operator, ['Equal', 'Exists']));
  }
  if (effect !== '' && !EFFECTS.includes(effect)) errors.push(unsupported(`${path}.effect`, effect, EFFECTS));
  return errors;
}

/** Checks a device taint. */
export function validateDeviceTaint(
  { key = '', value = '', effect = '' }: { key?: string; value?: string; effect?: string },
  path: string,
): FieldError[] {
  const errors = validateLabelKey(key, `${path}.key`);
  if (value !== '') append(errors, validateLabelText(value, `${path}.value`));
  if (effect === '') errors.push(required(`${path}.effect`));
  else if (!EFFECTS.includes(effect)) errors.push(unsupported(`${path}.effect`, effect, EFFECTS));
  return errors;
}
