import { type ResourceDefinition, encodeProtobuf, hasProtobuf } from '@gantry/apimachinery';
import { type KubeObject, StatusError } from '@gantry/objects';
import type { ObjectResponse } from '../../cache/object-response.ts';
import { partialFrame } from './protobuf-frame.ts';
import { partialMetadata } from './table.ts';

/** Whether an answer has no protobuf form: custom resources have none, what their subresources answer may. */
export function isJsonOnly(definition: ResourceDefinition, response: ObjectResponse): boolean {
  return !hasProtobuf(definition) && response.object.kind === definition.kind;
}

/** The refusal of protobuf for a custom resource. */
export function noProtobuf(): StatusError {
  return new StatusError(
    'NotAcceptable',
    'object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message',
  );
}

/** The metadata of any object as protobuf, envelope included. */
export function partialFrameOf(definition: ResourceDefinition, metaApi: string, response: ObjectResponse): Uint8Array {
  const { publishedSchema, fieldAnnotations } = definition;
  if (publishedSchema === undefined && fieldAnnotations === undefined)
    return partialFrame(metaApi, response.protobuf());
  const { metadata } = partialMetadata(definition, response.object) as unknown as KubeObject;
  return encodeProtobuf({ kind: 'PartialObjectMetadata', apiVersion: metaApi, metadata });
}
