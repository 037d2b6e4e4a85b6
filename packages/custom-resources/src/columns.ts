import { type Column, describedAs, formatAge, nameColumn } from '@gantry/apimachinery';
import type { CustomResourceColumnDefinition } from '@gantry/objects';
import { parseJsonPath } from './json-path.ts';

/** The column of definitions that name none. */
const AGE: Column = {
  name: 'Age',
  type: 'date',
  description: describedAs('meta.v1.ObjectMeta', 'creationTimestamp'),
  priority: 0,
  value: (object, now) => formatAge(object.metadata.creationTimestamp, now),
};

/** The columns that a definition asks for, after the name. */
export function customColumns(definitions: readonly CustomResourceColumnDefinition[]): readonly Column[] {
  if (definitions.length === 0) return [nameColumn, AGE];
  return [nameColumn, ...definitions.map(customColumn)];
}

function customColumn(definition: CustomResourceColumnDefinition): Column {
  const { name, jsonPath, format, priority = 0 } = definition;
  const read = parseJsonPath(jsonPath);
  const type = definition.type as Column['type'];
  return {
    name,
    type,
    ...(format === undefined ? {} : { format }),
    description: definition.description ?? `Custom resource definition column (in JSONPath format): ${jsonPath}`,
    priority,
    value: (object, now) => cell(read(object), type, now),
  };
}

function cell(value: unknown, type: Column['type'], now: number): string | number | boolean | null {
  if (value === undefined) return null;
  switch (type) {
    case 'string':
      if (value === null) return '<nil>';
      return typeof value === 'object' ? JSON.stringify(value) : String(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      if (typeof value !== 'string') return null;
      return Number.isNaN(Date.parse(value)) ? '<invalid>' : formatAge(value, now);
  }
}
