import { setImmediate as turn } from 'node:timers/promises';
import { applyPatch, beginDecoding, decodeAs, type ResourceDefinition, normaliseShape } from '@gantry/apimachinery';
import type { KubeObject } from '@gantry/objects';
import type { Body, WriteRequest } from '../contract/registry.ts';

/** The undecoded bytes of a patch, and its media type. */
export interface PatchBytes {
  readonly bytes: Uint8Array;
  readonly type: string;
}

/** Larger bodies, in bytes, take milliseconds to decode. */
const LARGE_BODY = 256 * 1024;

/** Decodes a body of the resource's own kind and sets its defaults. */
export async function decodeBody(request: WriteRequest, body: Body): Promise<KubeObject> {
  return (await decodeSent(request, body)).take();
}

/** The object of a body. Each attempt of a write takes its own copy, which it changes in place. */
export class SentObject {
  /** The object as it was sent, with its defaults. Callers may only read it, and only before it is taken. */
  readonly object: KubeObject;
  readonly #decode: () => KubeObject;
  #isTaken = false;

  constructor(object: KubeObject, decode: () => KubeObject) {
    this.object = object;
    this.#decode = decode;
  }

  /** Returns an object that the caller owns. The first call is free; each further call decodes the body again. */
  take(): KubeObject {
    if (this.#isTaken) return this.#decode();
    this.#isTaken = true;
    return this.object;
  }
}

/** Decodes a body of the resource's own kind and sets its defaults, for a write with several attempts. */
export async function decodeSent({ context, target, options }: WriteRequest, body: Body): Promise<SentObject> {
  const { definition } = target;
  const { mediaType } = body;
  const bytes = await body.read();
  const begin = () => beginDecoding({ bytes, mediaType, definition, mode: options.fieldValidation });
  const decode = () => begin()();
  const finish = begin();
  // Each step for a large body is a long computation, as are the steps after decoding. Other requests run in between.
  const nextTurn = body.nextTurn ?? (() => turn());
  if (bytes.length > LARGE_BODY) await nextTurn();
  const { object, warnings } = finish();
  for (const warning of warnings) context.warn(warning);
  if (bytes.length > LARGE_BODY) await nextTurn();
  return new SentObject(withDefaults(definition, object), () => withDefaults(definition, decode().object));
}

/** Decodes a body of a subresource's kind (`autoscaling.v1.Scale`). */
export async function decodeKind({ context, options }: WriteRequest, body: Body, schema: string): Promise<KubeObject> {
  const { object, warnings } = decodeAs(schema, await body.read(), body.mediaType, options.fieldValidation);
  for (const warning of warnings) context.warn(warning);
  return object;
}

/** Sets the defaults that Kubernetes sets in code, and normalises the shape. Changes and returns `object`. */
export function withDefaults(definition: ResourceDefinition, object: KubeObject): KubeObject {
  definition.strategy.applyDefaults?.(object);
  return normalised(definition, object);
}

/** Normalises the shape of an object for comparison, storage and responses. Changes and returns `object`. */
export function normalised(definition: ResourceDefinition, object: KubeObject): KubeObject {
  return normaliseShape(object, definition.schema);
}

/** Returns a patched copy of `original` with defaults. Does not change `original`. */
export function patched(
  original: KubeObject,
  patch: PatchBytes,
  { target, options }: WriteRequest,
): { readonly object: KubeObject; readonly warnings: readonly string[] } {
  const { definition } = target;
  const { object, warnings } = applyPatch(original, patch, { definition, mode: options.fieldValidation });
  return { object: withDefaults(definition, object as KubeObject), warnings };
}

/** Returns a patched copy of the Scale `original`. */
export function patchedScale(
  original: KubeObject,
  patch: PatchBytes,
  { request: { target, options }, schema }: { readonly request: WriteRequest; readonly schema: string },
): KubeObject {
  const { definition } = target;
  const { object } = applyPatch(original, patch, { definition, mode: options.fieldValidation, schema });
  return object as KubeObject;
}
