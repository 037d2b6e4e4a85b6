import { jsonTypeOf } from '../values/scalars.ts';
import { type YamlResult, parseYamlText, YamlSyntaxError } from '../decode/yaml-parser.ts';
import type { FieldValidation } from '../decode/decode-object.ts';
import { NumberLiteral, plainJson } from '../values/json-parser.ts';
import { type JsonObject, StatusError } from '@gantry/objects';

/** Media type of server-side apply. */
export const APPLY_PATCH_TYPE = 'application/apply-patch+yaml';

/** The configuration of an apply request. */
export interface ApplyConfig {
  readonly object: JsonObject;
  /** Reports duplicate keys: throws with 'Strict', otherwise returns the texts of warnings. Call it after the apply has succeeded. */
  readonly complain: (mode: FieldValidation) => readonly string[];
}

/** Reads the body of an apply, YAML or JSON. An empty body is an empty configuration. Throws StatusError BadRequest. */
export function readApplyConfig(bytes: Uint8Array): ApplyConfig {
  const { value, duplicates } = parse(bytes);
  if (value !== null && (typeof value !== 'object' || Array.isArray(value) || value instanceof NumberLiteral)) {
    const found = value instanceof NumberLiteral ? `number ${value.text}` : jsonTypeOf(value);
    throw undecodable(
      `error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${found} into Go value of type map[string]interface {}`,
    );
  }
  return {
    object: value === null ? {} : (plainJson(value) as JsonObject),
    complain: (mode) => {
      if (mode === 'Ignore' || duplicates.length === 0) return [];
      const complaint = ['error converting YAML to JSON: yaml: unmarshal errors:', ...duplicates].join('\n  ');
      if (mode === 'Strict') throw StatusError.badRequest(`error strict decoding YAML: ${complaint}`);
      return duplicates;
    },
  };
}

function parse(bytes: Uint8Array): YamlResult {
  try {
    return parseYamlText(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  } catch (error) {
    if (!(error instanceof YamlSyntaxError)) throw error;
    const { message } = error;
    throw undecodable(message.startsWith('error') ? message : `error converting YAML to JSON: ${message}`);
  }
}

function undecodable(why: string): StatusError {
  return StatusError.badRequest(`error decoding YAML: ${why}`);
}
