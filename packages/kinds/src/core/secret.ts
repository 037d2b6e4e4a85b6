import { append } from '@gantry/base';
import {
  type FieldError,
  SECRETS,
  type Secret,
  configKey,
  equalJson,
  forbidden,
  invalid,
  required,
  setMember,
  tooLong,
  TOKEN_SECRET,
  ACCOUNT_NAME_ANNOTATION,
  OLD_DOCKER_CONFIG_SECRET,
  DOCKER_CONFIG_SECRET,
} from '@gantry/objects';
import {
  describedAs,
  IMMUTABLE,
  ageColumn,
  column,
  defineResource,
  invalidAll,
  nameColumn,
  fieldColumn,
} from '@gantry/apimachinery';
import { MAX_DATA_BYTES } from './config-map.ts';
import { tlsPairFault } from './tls-pair.ts';
import { countedByName } from '../fields/quota.ts';

const REDACTED = '<secret contents redacted>';

/** `stringData` is write-only: it is merged into `data` when the object is decoded. */
function applyDefaults(object: Secret): void {
  object.type ??= 'Opaque';
  if (object.type === '') object.type = 'Opaque';
  if (object.stringData === undefined) return;
  const data = { ...object.data };
  for (const [key, value] of Object.entries(object.stringData))
    setMember(data, key, Buffer.from(value).toString('base64'));
  delete object.stringData;
  if (Object.keys(data).length > 0) object.data = data;
}

function validate(object: Secret): FieldError[] {
  const errors: FieldError[] = [];
  const { data = {} } = object;
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    append(errors, invalidAll(`data[${key}]`, key, configKey(key)));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_BYTES) errors.push(tooLong('data', MAX_DATA_BYTES));
  return [...errors, ...validateType(object)];
}

function validateType(object: Secret): FieldError[] {
  const { data = {} } = object;
  switch (object.type) {
    case TOKEN_SECRET:
      return (object.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? '') === ''
        ? [required(`metadata.annotations[${ACCOUNT_NAME_ANNOTATION}]`)]
        : [];
    case OLD_DOCKER_CONFIG_SECRET:
      return validateJson(data, '.dockercfg');
    case DOCKER_CONFIG_SECRET:
      return validateJson(data, '.dockerconfigjson');
    case 'kubernetes.io/basic-auth':
      return 'username' in data || 'password' in data ? [] : [required('data[username]'), required('data[password]')];
    case 'kubernetes.io/ssh-auth':
      return (data['ssh-privatekey'] ?? '') === '' ? [required('data[ssh-privatekey]')] : [];
    case 'kubernetes.io/tls':
      return ['tls.crt', 'tls.key'].filter((key) => !(key in data)).map((key) => required(`data[${key}]`));
    default:
      return [];
  }
}

function validateJson(data: Readonly<Record<string, string>>, key: string): FieldError[] {
  const value = data[key];
  if (value === undefined) return [required(`data[${key}]`)];
  try {
    const parsed: unknown = JSON.parse(Buffer.from(value, 'base64').toString());
    return parsed === null || (typeof parsed === 'object' && !Array.isArray(parsed))
      ? []
      : [invalid(`data[${key}]`, REDACTED, 'json: cannot unmarshal into Go value of type map[string]interface {}')];
  } catch (error) {
    const empty = Buffer.byteLength(value, 'base64') === 0;
    const message = empty ? 'unexpected end of JSON input' : `invalid character: json: ${String(error)}`;
    return [invalid(`data[${key}]`, REDACTED, message)];
  }
}

function validateUpdate(object: Secret, old: Secret): FieldError[] {
  const errors: FieldError[] = [];
  if (object.type !== old.type) errors.push(invalid('type', object.type ?? '', IMMUTABLE));
  if (old.immutable !== true) return errors;
  const sealed = 'field is immutable when `immutable` is set';
  if (object.immutable !== true) errors.push(forbidden('immutable', sealed));
  if (!equalJson(object.data ?? {}, old.data ?? {})) errors.push(forbidden('data', sealed));
  return errors;
}

/** Warns about an unusable certificate; it is stored anyway. */
function warnings({ type, data = {} }: Secret): string[] {
  if (type !== 'kubernetes.io/tls') return [];
  const bytes = (key: string) => Buffer.from(data[key] ?? '', 'base64');
  const fault = tlsPairFault(bytes('tls.crt'), bytes('tls.key'));
  return fault === undefined ? [] : [fault];
}

export const secrets = defineResource(SECRETS, {
  schema: 'core.v1.Secret',
  strategy: {
    applyDefaults,
    // An empty type in an update means "as it is".
    prepareForUpdate: (object, old) => {
      if ((object.type ?? '') === '') object.type = old.type ?? 'Opaque';
    },
    validate,
    validateUpdate,
    updateRules: 'before',
    warnings,
  },
  quota: countedByName('secrets'),
  columns: [
    nameColumn,
    fieldColumn('Type', 'core.v1.Secret', 'type'),
    column('Data', describedAs('core.v1.Secret', 'data'), (object) => Object.keys(object.data ?? {}).length),
    ageColumn,
  ],
  selectableFields: { type: (object) => object.type ?? '' },
});
