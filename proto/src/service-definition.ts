import { encodeListReply } from './encode-list-reply.ts';
import { type ListReply, ListReplySchema } from './gen/gantry/v1/object_pb.ts';
import { type DescMessage, type DescService, fromBinary, type Message, ScalarType, toBinary } from '@bufbuild/protobuf';

/** A method of a service in the form that grpc-js expects, without importing grpc-js. */
export interface MethodDefinition {
  readonly path: string;
  readonly requestStream: boolean;
  readonly responseStream: boolean;
  readonly requestSerialize: (message: Message) => Buffer;
  readonly requestDeserialize: (bytes: Buffer) => Message;
  readonly responseSerialize: (message: Message) => Buffer;
  readonly responseDeserialize: (bytes: Buffer) => Message;
  readonly originalName: string;
}

/** Called with the size of each encoded message whose content is bytes: a piece of a log. */
export type OnBytes = (bytes: number) => void;

/** Converts a generated service to a definition for `Server.addService` and `makeGenericClientConstructor`. */
export function serviceDefinition(
  service: DescService,
  onBytes: OnBytes = () => undefined,
): Record<string, MethodDefinition> {
  const definition: Record<string, MethodDefinition> = {};
  for (const method of service.methods) {
    definition[method.localName] = {
      path: `/${service.typeName}/${method.name}`,
      requestStream: method.methodKind === 'client_streaming' || method.methodKind === 'bidi_streaming',
      responseStream: method.methodKind === 'server_streaming' || method.methodKind === 'bidi_streaming',
      requestSerialize: serializer(method.input, onBytes),
      requestDeserialize: deserializer(method.input, onBytes),
      responseSerialize: serializer(method.output, onBytes),
      responseDeserialize: deserializer(method.output, onBytes),
      originalName: method.localName,
    };
  }
  return definition;
}

function serializer(message: DescMessage, onBytes: OnBytes): (value: Message) => Buffer {
  if (message.typeName === ListReplySchema.typeName) return (value) => encodeListReply(value as ListReply);
  const encode = (value: Message): Buffer => {
    const bytes = toBinary(message, value);
    return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  };
  if (!carriesBytes(message)) return encode;
  return (value) => {
    const encoded = encode(value);
    onBytes(encoded.length);
    return encoded;
  };
}

function deserializer(message: DescMessage, onBytes: OnBytes): (bytes: Buffer) => Message {
  if (!carriesBytes(message)) return (bytes) => fromBinary(message, bytes);
  return (bytes) => {
    onBytes(bytes.length);
    return fromBinary(message, bytes);
  };
}

function carriesBytes({ fields }: DescMessage): boolean {
  return fields.some((field) => field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES);
}
