import { append } from '@gantry/base';
import {
  cIdentifier,
  dns1123Label,
  dns1123Subdomain,
  type FieldError,
  invalid,
  labelValue,
  qualifiedName,
  repeatedAt,
  required,
  tooLong,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

const MAX_DRIVER = 63;
const MAX_POOL = 253;
const MAX_ID = 32;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Checks a driver name: a DNS subdomain in any case, as for CSI drivers. */
export function validateDriverName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const errors = name.length > MAX_DRIVER ? [tooLong(path, MAX_DRIVER)] : [];
  return [...errors, ...invalidAll(path, name, dns1123Subdomain(name.toLowerCase()))];
}

/** Checks a pool name: DNS subdomains separated by slashes, such as a node's name. */
export function validatePoolName(name: string, path: string): FieldError[] {
  if (name === '') return [required(path)];
  const errors = name.length > MAX_POOL ? [tooLong(path, MAX_POOL)] : [];
  return [...errors, ...name.split('/').flatMap((part) => invalidAll(path, part, dns1123Subdomain(part)))];
}

export function validateDnsLabel(name: string, path: string): FieldError[] {
  return invalidAll(path, name, dns1123Label(name));
}

export function validateDeviceClassName(name: string, path: string): FieldError[] {
  return name === '' ? [required(path)] : invalidAll(path, name, dns1123Subdomain(name));
}

export function validateShareId(uid: string | undefined, path: string): FieldError[] {
  if (uid === undefined || UUID.test(uid)) return [];
  if (UUID.test(uid.toLowerCase())) {
    const form = '`xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';
    return [invalid(path, uid, `uid must be in RFC 4122 normalized form, ${form}`)];
  }
  const why = uid.length === 36 ? 'invalid UUID format' : `invalid UUID length: ${uid.length}`;
  return [invalid(path, uid, `error validating uid: ${why}`)];
}

/** Checks the name of an attribute or capacity; the domain may be omitted if it is the driver's. */
export function validateAttributeName(name: string, path: string): FieldError[] {
  const parts = name.split('/');
  const [first = '', second = ''] = parts;
  if (parts.length === 1) return validateIdentifier(first, path);
  if (parts.length > 2) return [];
  return [
    ...(first === '' ? [invalid(path, '', 'the domain must not be empty')] : validateDriverName(first, path)),
    ...(second === '' ? [invalid(path, '', 'the name must not be empty')] : validateIdentifier(second, path)),
  ];
}

/** The same with a required domain. */
export function validateFullAttributeName(name: string, path: string): FieldError[] {
  const errors = validateAttributeName(name, path);
  if (name.includes('/')) return errors;
  return [...errors, invalid(path, name, 'a fully qualified name must be a domain and a name separated by a slash')];
}

function validateIdentifier(id: string, path: string): FieldError[] {
  const errors = id.length > MAX_ID ? [tooLong(path, MAX_ID)] : [];
  return [...errors, ...invalidAll(path, id, cIdentifier(id))];
}

export function validateLabelKey(key: string, path: string): FieldError[] {
  return invalidAll(path, key, qualifiedName(key));
}

export function validateLabelText(value: string, path: string): FieldError[] {
  return invalidAll(path, value, labelValue(value));
}

/** Checks the conditions that must, or must not, hold before a pod is bound to its devices. */
export function validateBindingConditions(
  { bindingConditions = [], bindingFailureConditions = [] }: BindingConditions,
  path: string,
): FieldError[] {
  const errors: FieldError[] = [];
  const lists = { bindingConditions, bindingFailureConditions };
  for (const [field, list] of Object.entries(lists)) {
    if (list.length > MAX_CONDITIONS) {
      const detail = `must have at most ${MAX_CONDITIONS} items`;
      errors.push({ type: 'FieldValueTooMany', field: `${path}.${field}`, value: list.length, detail });
    } else
      append(
        errors,
        list.flatMap((name, i) => validateLabelKey(name, `${path}.${field}[${i}]`)),
      );
  }
  for (const [field, list] of Object.entries(lists)) {
    const isRepeated = repeatedAt(list);
    list.forEach((name, i) => {
      const at = `${path}.${field}[${i}]`;
      if (isRepeated(i)) errors.push({ type: 'FieldValueDuplicate', field: at, value: name, detail: '' });
      if (field === 'bindingFailureConditions' && bindingConditions.includes(name)) {
        errors.push(invalid(at, name, 'bindingFailureConditions must not overlap with bindingConditions'));
      }
    });
  }
  const pairs = [
    ['bindingConditions', 'bindingFailureConditions'],
    ['bindingFailureConditions', 'bindingConditions'],
  ] as const;
  for (const [missing, used] of pairs) {
    if (lists[missing].length > 0 || lists[used].length === 0) continue;
    errors.push(invalid(`${path}.${missing}`, lists[missing], `${missing} are required to use ${used}`));
  }
  return errors;
}

interface BindingConditions {
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
}

const MAX_CONDITIONS = 4;
