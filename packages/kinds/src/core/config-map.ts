import { append } from '@gantry/base';
import {
  CONFIG_MAPS,
  type ConfigMap,
  type FieldError,
  configKey,
  equalJson,
  forbidden,
  invalid,
  tooLong,
} from '@gantry/objects';
import { describedAs, ageColumn, column, defineResource, invalidAll, nameColumn } from '@gantry/apimachinery';
import { countedByName } from '../fields/quota.ts';

/** Data of a ConfigMap or Secret together: 1 MiB. */
export const MAX_DATA_BYTES = 1024 * 1024;

function validate(object: ConfigMap): FieldError[] {
  const errors: FieldError[] = [];
  const { data = {}, binaryData = {} } = object;
  let size = 0;
  for (const [key, value] of Object.entries(data)) {
    append(errors, invalidAll(`data[${key}]`, key, configKey(key)));
    if (Object.hasOwn(binaryData, key)) {
      errors.push(invalid(`data[${key}]`, key, `duplicate of key present in binaryData`));
    }
    size += Buffer.byteLength(value);
  }
  for (const [key, value] of Object.entries(binaryData)) {
    append(errors, invalidAll(`binaryData[${key}]`, key, configKey(key)));
    size += Buffer.byteLength(value, 'base64');
  }
  if (size > MAX_DATA_BYTES) errors.push(tooLong('[]', MAX_DATA_BYTES));
  return errors;
}

function validateUpdate(object: ConfigMap, old: ConfigMap): FieldError[] {
  if (old.immutable !== true) return [];
  const errors: FieldError[] = [];
  const sealed = 'field is immutable when `immutable` is set';
  if (object.immutable !== true) errors.push(forbidden('immutable', sealed));
  if (!equalJson(object.data ?? {}, old.data ?? {})) errors.push(forbidden('data', sealed));
  if (!equalJson(object.binaryData ?? {}, old.binaryData ?? {})) errors.push(forbidden('binaryData', sealed));
  return errors;
}

export const configMaps = defineResource(CONFIG_MAPS, {
  shortNames: ['cm'],
  schema: 'core.v1.ConfigMap',
  strategy: { validate, validateUpdate },
  quota: countedByName('configmaps'),
  columns: [
    nameColumn,
    column(
      'Data',
      describedAs('core.v1.ConfigMap', 'data'),
      ({ data = {}, binaryData = {} }) => Object.keys(data).length + Object.keys(binaryData).length,
    ),
    ageColumn,
  ],
});
