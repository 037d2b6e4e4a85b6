import { create } from '@bufbuild/protobuf';
import { parseJson } from '@gantry/apimachinery';
import { type KubeObject, StatusError } from '@gantry/objects';
import { type Fence as FenceMessage, FenceSchema, type Write, WriteSchema } from '@gantry/proto';
import type { Fence, ObjectWrite } from '../object-client.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** A write as its wire message. */
export function encodeWrite(write: ObjectWrite, fieldManager: string): Write {
  const resource = { ...write.resource };
  if (write.fence !== undefined) throw StatusError.badRequest('a term of a Lease cannot be sent over gRPC');
  const common = { verb: write.verb, resource, fieldManager };
  switch (write.verb) {
    case 'create':
      return create(WriteSchema, {
        ...common,
        namespace: write.namespace,
        name: write.name ?? write.object.metadata.name ?? '',
        subresource: write.subresource ?? '',
        body: encodeJson(write.object),
      });
    case 'update':
      return create(WriteSchema, {
        ...common,
        ...write.key,
        subresource: write.subresource ?? '',
        body: encodeJson(write.object),
      });
    case 'patch':
      return create(WriteSchema, {
        ...common,
        ...write.key,
        subresource: write.subresource ?? '',
        patchType: write.patchType,
        fieldManager: write.fieldManager ?? fieldManager,
        body: encodeJson(write.patch),
      });
    case 'delete':
      return create(WriteSchema, {
        ...common,
        ...write.key,
        body: encodeJson({ apiVersion: 'v1', kind: 'DeleteOptions', ...write.options }),
      });
  }
}

/** A fence as its wire message. */
export function encodeFence(fence: Fence | undefined): FenceMessage | undefined {
  if (fence === undefined) return undefined;
  return create(FenceSchema, {
    electionKey: fence.electionKey,
    epoch: BigInt(fence.epoch),
    incarnation: fence.incarnation,
    cacheRevision: BigInt(fence.cacheRevision),
  });
}

export function encodeJson(value: unknown): Uint8Array {
  return encoder.encode(JSON.stringify(value));
}

export function decodeObject<T extends KubeObject>(bytes: Uint8Array): T {
  return parseJson(decoder.decode(bytes)) as T;
}

export function decodeJson<T>(bytes: Uint8Array): T {
  return parseJson(decoder.decode(bytes)) as T;
}
