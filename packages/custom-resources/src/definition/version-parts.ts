import { type JsonSchema } from '@gantry/apimachinery';
import { append } from '@gantry/base';
import {
  type CustomResourceColumnDefinition,
  type CustomResourceSubresources,
  duplicate,
  type FieldError,
  invalid,
  required,
  type SelectableField,
} from '@gantry/objects';
import { followFieldPath } from '../field-path.ts';
import { findUnsupported } from './structural.ts';

const COLUMN_TYPES = ['boolean', 'date', 'integer', 'number', 'string'];
const COLUMN_FORMATS = ['byte', 'date', 'date-time', 'double', 'float', 'int32', 'int64', 'password'];
const MAX_SELECTABLE = 8;

function validatePath(text: string, path: string): FieldError[] {
  return text.startsWith('.') ? [] : [invalid(path, text, 'must be a simple json path starting with .')];
}

/** Validates the subresources of a version. */
export function validateSubresources(subresources: CustomResourceSubresources | undefined, path: string): FieldError[] {
  const scale = subresources?.scale;
  if (scale === undefined) return [];
  const check = (field: 'specReplicasPath' | 'statusReplicasPath', root: string): FieldError[] => {
    const value = scale[field] ?? '';
    const at = `${path}.scale.${field}`;
    if (value === '') return [required(at)];
    const wrong = validatePath(value, at);
    if (wrong.length > 0) return wrong;
    return value.startsWith(`${root}.`) ? [] : [invalid(at, value, `should be a json path under ${root}`)];
  };
  const errors = [...check('specReplicasPath', '.spec'), ...check('statusReplicasPath', '.status')];
  const { labelSelectorPath = '' } = scale;
  if (labelSelectorPath === '') return errors;
  const at = `${path}.scale.labelSelectorPath`;
  const wrong = validatePath(labelSelectorPath, at);
  if (wrong.length > 0) return [...errors, ...wrong];
  if (/^\.(spec|status)\./.test(labelSelectorPath)) return errors;
  return [...errors, invalid(at, labelSelectorPath, 'should be a json path under either .spec or .status')];
}

/** The rules on columns of tables. */
export function validateColumns(columns: readonly CustomResourceColumnDefinition[], path: string): FieldError[] {
  return columns.flatMap((column, i) => {
    const at = `${path}[${i}]`;
    const { name = '', type = '', format = '', jsonPath = '' } = column;
    const errors: FieldError[] = [];
    const types = `must be one of ${COLUMN_TYPES.join(',')}`;
    if (name === '') errors.push(required(`${at}.name`));
    if (type === '') errors.push(required(`${at}.type`, types));
    else if (!COLUMN_TYPES.includes(type)) errors.push(invalid(`${at}.type`, type, types));
    if (format !== '' && !COLUMN_FORMATS.includes(format)) {
      errors.push(invalid(`${at}.format`, format, `must be one of ${COLUMN_FORMATS.join(',')}`));
    }
    append(errors, jsonPath === '' ? [required(`${at}.JSONPath`)] : validatePath(jsonPath, `${at}.JSONPath`));
    return errors;
  });
}

/** Validates the selectable fields of a version. */
export function validateSelectable(
  fields: readonly SelectableField[],
  schema: JsonSchema,
  parent: string,
): FieldError[] {
  const unsupported = findUnsupported(schema);
  const path = `${parent}.selectableFields`;
  const errors: FieldError[] = [];
  if (unsupported !== undefined) errors.push(invalid(`${parent}.schema.openAPIV3Schema`, '', unsupported));
  const seen = new Set<string>();
  for (const [i, { jsonPath = '' }] of fields.entries()) {
    const at = `${path}[${i}].jsonPath`;
    if (jsonPath === '') {
      errors.push(required(at));
      continue;
    }
    const found = followFieldPath(schema, jsonPath, { brackets: false });
    if (typeof found === 'string') {
      errors.push(invalid(at, jsonPath, `is an invalid path: ${found}`));
      continue;
    }
    if (found.names[0] === 'metadata') errors.push(invalid(at, jsonPath, 'must not point to fields in metadata'));
    if (!['string', 'boolean', 'integer'].includes(found.schema?.type ?? '')) {
      const detail =
        'must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.';
      errors.push(invalid(at, jsonPath, detail));
    }
    if (seen.has(jsonPath)) errors.push(duplicate(at, jsonPath));
    seen.add(jsonPath);
  }
  if (seen.size > MAX_SELECTABLE) {
    const detail = `must have at most ${MAX_SELECTABLE} items`;
    errors.push({ type: 'FieldValueTooMany', field: path, value: seen.size, detail });
  }
  return errors;
}
