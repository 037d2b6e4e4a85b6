import { DecodeError, decodeStruct } from '../decode/decode-value.ts';
import type { ParsedObject } from '../decode/json-parser.ts';
import { settleShape } from '../decode/settle-shape.ts';
import { MergeRefused, mergeUnowned } from '../managed-fields/merge-unowned.ts';
import { cloneJson, type JsonObject, type KubeObject } from '../object.ts';
import { applyJsonPatch, type JsonPatchOperation, PatchConflict, PatchTestFailed } from '../patch/json-patch.ts';
import { isPlainObject } from '../patch/merge-patch.ts';
import { schemaOf, type SchemaRef } from '../schema/type-schema.ts';
import { StatusError } from '../status-error.ts';

/** Why a policy's mutation cannot be made, in Kubernetes' words. */
export class MutationRefused extends Error {
  override readonly name = 'MutationRefused';
}

/**
 * `object` with an apply configuration of a policy merged into it, in settled shape, without new defaults. Neither is changed.
 * Throws MutationRefused.
 */
export function mergeMutation(schema: SchemaRef, object: KubeObject, config: JsonObject): KubeObject {
  const { apiVersion, kind } = object;
  try {
    return decoded(schema, mergeUnowned(schema, object, { ...config, apiVersion, kind }), 'lenient');
  } catch (error) {
    if (error instanceof MergeRefused || error instanceof DecodeError) {
      throw new MutationRefused(`error applying patch: ${error.message}`, { cause: error });
    }
    throw error;
  }
}

/**
 * `object` with the operations of a policy carried out, likewise; as it is when a test among them fails. What comes out may
 * hold nothing that its schema does not know. Throws MutationRefused, and StatusError InternalError for what is no such object.
 */
export function patchMutation(
  schema: SchemaRef,
  object: KubeObject,
  operations: readonly JsonPatchOperation[],
): KubeObject {
  try {
    const document = applyJsonPatch(cloneJson(object), operations);
    if (!isPlainObject(document)) throw StatusError.internal('json: cannot unmarshal into Go value');
    const { apiVersion = object.apiVersion, kind = object.kind } = document;
    if (apiVersion !== object.apiVersion || kind !== object.kind) {
      throw StatusError.internal(`failed to convert object: ${String(apiVersion)}, Kind=${String(kind)}`);
    }
    return decoded(schema, { ...document, apiVersion, kind }, 'strict');
  } catch (error) {
    if (error instanceof PatchTestFailed) return object;
    if (error instanceof PatchConflict) throw new MutationRefused(`JSON Patch: ${error.message}`, { cause: error });
    if (error instanceof DecodeError) throw StatusError.internal(error.message);
    throw error;
  }
}

function decoded(schema: SchemaRef, document: unknown, mode: 'strict' | 'lenient'): KubeObject {
  const dialect = mode === 'strict' ? 'json' : 'unstructured';
  const type = schemaOf(schema);
  const { value, unknown } = decodeStruct(type, document as ParsedObject, dialect);
  // Custom resources are pruned of what they do not know.
  if (mode === 'strict' && unknown.length > 0 && type.custom === undefined) {
    const fields = unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');
    throw StatusError.internal(`strict decoding error: ${fields}`);
  }
  return settleShape(value, schema) as unknown as KubeObject;
}
