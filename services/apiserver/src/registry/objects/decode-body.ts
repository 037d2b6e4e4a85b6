import { setImmediate as turn } from 'node:timers/promises';
import { applyPatch, beginDecoding, decodeAs, type ResourceDefinition, normaliseShape } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import type { Body, WriteRequest } from '../contract/registry.ts';

/** A patch as it came. */
export interface PatchBytes {
  readonly bytes: Uint8Array;
  readonly type: string;
}

/** Bytes of a body that takes milliseconds to decode. */
const LARGE_BODY = 256 * 1024;

/** Reads a body of the resource's own kind, with its defaults set. */
export async function decodeBody(request: WriteRequest, body: Body): Promise<KubeObject> {
  return (await decodeSent(request, body)).take();
}

/** The object of a body, for each attempt at a write that changes it in place. */
export class SentObject {
  /** As it was sent, with its defaults set. Only to be read, and only until it is taken. */
  readonly object: KubeObject;
  readonly #decode: () => KubeObject;
  #isTaken = false;

  constructor(object: KubeObject, decode: () => KubeObject) {
    this.object = object;
    this.#decode = decode;
  }

  /** An object of the caller's own. The first costs nothing, each later one a decoding of the body. */
  take(): KubeObject {
    if (this.#isTaken) return this.#decode();
    this.#isTaken = true;
    return this.object;
  }
}

/** Reads a body of the resource's own kind, with its defaults set, for a write that may be attempted again. */
export async function decodeSent({ context, target, options }: WriteRequest, body: Body): Promise<SentObject> {
  const { definition } = target;
  const { mediaType } = body;
  const bytes = await body.read();
  const begin = () => beginDecoding({ bytes, mediaType, definition, mode: options.fieldValidation });
  const decode = () => begin()();
  const finish = begin();
  // Each step of a large body takes as long as others may be kept waiting; so do the steps that follow.
  const nextTurn = body.nextTurn ?? (() => turn());
  if (bytes.length > LARGE_BODY) await nextTurn();
  const { object, warnings } = finish();
  for (const warning of warnings) context.warn(warning);
  if (bytes.length > LARGE_BODY) await nextTurn();
  return new SentObject(withDefaults(definition, object), () => withDefaults(definition, decode().object));
}

/** Reads a body of a subresource's kind (`autoscaling.v1.Scale`). */
export async function decodeKind({ context, options }: WriteRequest, body: Body, schema: string): Promise<KubeObject> {
  const { object, warnings } = decodeAs(schema, await body.read(), body.mediaType, options.fieldValidation);
  for (const warning of warnings) context.warn(warning);
  return object;
}

/** Sets what Kubernetes defaults in code, in the normalised shape. Changes and returns `object`. */
export function withDefaults(definition: ResourceDefinition, object: KubeObject): KubeObject {
  definition.strategy.applyDefaults?.(object);
  return normalised(definition, object);
}

/** The shape in which objects are compared, stored and answered. Changes and returns `object`. */
export function normalised(definition: ResourceDefinition, object: KubeObject): KubeObject {
  return normaliseShape(object, definition.schema);
}

/** `original` with a patch applied and defaults set; the original is not touched. */
export function patched(
  original: KubeObject,
  patch: PatchBytes,
  { target, options }: WriteRequest,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { definition } = target;
  const { object, warnings } = applyPatch(original, patch, { definition, mode: options.fieldValidation });
  return { object: withDefaults(definition, object as KubeObject), warnings };
}

/** The Scale `original` with a patch applied. */
export function patchedScale(
  original: KubeObject,
  patch: PatchBytes,
  { request: { target, options }, schema }: { readonly request: WriteRequest; readonly schema: string },
): KubeObject {
  const { definition } = target;
  const { object } = applyPatch(original, patch, { definition, mode: options.fieldValidation, schema });
  return object as KubeObject;
}
