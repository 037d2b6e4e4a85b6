import {
  DecodeError,
  type JsonPatchOperation,
  MergeRefused,
  type ParsedObject,
  PatchConflict,
  PatchTestFailed,
  type SchemaRef,
  applyJsonPatch,
  decodeStruct,
  isPlainObject,
  mergeUnowned,
  schemaOf,
  normaliseShape,
} from '@gantry/apimachinery';
import { type JsonObject, type KubeObject, StatusError, cloneJson } from '@gantry/objects';

/** Kubernetes' message about a mutation of a policy that cannot be applied. */
export class MutationRefused extends Error {
  override readonly name = 'MutationRefused';
}

/**
 * `object` with a policy's apply configuration merged into it, in normalised shape, without new defaults. Does not change its arguments.
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
 * `object` with a policy's patch operations applied; the unchanged object if a test among them fails. The result must not contain fields
 * unknown to the schema. Throws MutationRefused, and StatusError InternalError if the result is not a valid object.
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
  // For custom resources, unknown fields are pruned instead.
  if (mode === 'strict' && unknown.length > 0 && type.custom === undefined) {
    const fields = unknown.map((path) => `unknown field ${JSON.stringify(path)}`).join(', ');
    throw StatusError.internal(`strict decoding error: ${fields}`);
  }
  return normaliseShape(value, schema) as KubeObject;
}
