import { encodeListReply } from './encode-list-reply.ts';
import { type ListReply, ListReplySchema } from './gen/gantry/v1/object_pb.ts';
import { type DescMessage, type DescService, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';

/** A method of a service in the form that grpc-js expects, without importing grpc-js. */
export interface MethodDefinition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (message: Message) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Message;
  /** A message that is encoded already is sent as it is. */
  readonly responseSerialize: (message: Message | Uint8Array) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Message;
  readonly originalName: string;
}

/** Converts a generated service to a definition for `Server.addService` and `makeGenericClientConstructor`. */
export function serviceDefinition(service: DescService): Record<string, MethodDefinition> {
  const definition: Record<string, MethodDefinition> = {};
  for (const method of service.methods) {
    definition[method.localName] = {
      path: `/${service.typeName}/${method.name}`,
      requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
      responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
      requestSerialize: serializer(method.input),
      requestDeserialize: deserializer(method.input),
      responseSerialize: serializer(method.output),
      responseDeserialize: deserializer(method.output),
      originalName: method.localName,
    };
  }
  return definition;
}

function serializer(message: DescMessage): (value: Message | Uint8Array) => Buffer {
  if (message.typeName === ListReplySchema.typeName) return (value) => encodeListReply(value as ListReply);
  return (value) => {
    const bytes = value instanceof Uint8Array ? value : toBinary(message, value);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
}

function deserializer(message: DescMessage): (bytes: Buffer) => Message {
  return (bytes) => fromBinary(message, bytes);
}
