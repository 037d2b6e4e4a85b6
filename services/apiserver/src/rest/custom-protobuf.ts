import { encodeProtobuf, type KubeObject, type ResourceDefinition, StatusError } from '@gantry/api';
import type { Answer } from '../driver.ts';
import { partialFrame } from './protobuf-frame.ts';
import { partialMetadata } from './table.ts';

/** Whether an answer has no protobuf form: custom resources have none, what their subresources answer may. */
export function isJsonOnly(definition: ResourceDefinition, answer: Answer): boolean {
  return definition.publishedSchema !== undefined && answer.object.kind === definition.kind;
}

/** The refusal of protobuf for a custom resource. */
export function noProtobuf(): StatusError {
  return new StatusError(
    'NotAcceptable',
    'object *unstructured.Unstructured does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message',
  );
}

/** The metadata of any object as protobuf, envelope included. */
export function partialFrameOf(definition: ResourceDefinition, metaApi: string, answer: Answer): Uint8Array {
  const { publishedSchema, fieldAnnotations } = definition;
  if (publishedSchema === undefined && fieldAnnotations === undefined) return partialFrame(metaApi, answer.protobuf());
  const { metadata } = partialMetadata(definition, answer.object) as unknown as KubeObject;
  return encodeProtobuf({ kind: 'PartialObjectMetadata', apiVersion: metaApi, metadata });
}
