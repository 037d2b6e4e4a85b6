import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import {
  type Describe,
  heldSchema,
  type ResourceDefinition,
  reachableSchemas,
  schemaNameOf,
} from '@gantry/apimachinery';
import { type Descriptions, extractDescriptions } from './extract-descriptions.ts';
import { fieldText } from './field-texts.ts';
import { typeText } from './type-texts.ts';

const NOTHING: Readonly<Record<string, string>> = {};

/**
 * Descriptions of schemas and fields. They come from a file next to the bundle; without it, from the packages from which the build makes
 * that file. They are read at the first use.
 */
export function createDescribe(definitions: readonly ResourceDefinition[]): Describe {
  let read = (): Descriptions => {
    const descriptions = load(definitions);
    read = () => descriptions;
    return descriptions;
  };
  return (schema, field = '') => {
    const all = read();
    const own = Object.hasOwn(all, schema) ? all[schema] : undefined;
    const sentences = own ?? NOTHING;
    if (Object.hasOwn(sentences, field)) return sentences[field];
    const text = typeText(schema, field);
    if (text !== undefined) return text;
    return field !== '' && heldSchema(schema, field) !== undefined ? fieldText(schema, field) : undefined;
  };
}

function load(definitions: readonly ResourceDefinition[]): Descriptions {
  const file = fileURLToPath(new URL('./descriptions.json', import.meta.url));
  if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Descriptions;
  return extractDescriptions(schemasOf(definitions));
}

/** All schemas in the documents of these resources. */
export function schemasOf(definitions: readonly ResourceDefinition[]): readonly string[] {
  return reachableSchemas(
    definitions.flatMap((definition) => {
      const schema = schemaNameOf(definition.schema);
      return [schema, `${schema}List`, 'meta.v1.Status', 'meta.v1.DeleteOptions'];
    }),
  );
}
