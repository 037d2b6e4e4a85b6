import { type DescMessage, type Message, toBinary } from '@bufbuild/protobuf';
import { bytesParts, type Parted } from './parts.ts';
import { varintBytes, writeVarint } from './varint.ts';

/** What gRPC puts before a message: whether it is compressed, and its length. */
export const PREFIX_BYTES = 5;

/**
 * Encodes messages of a gRPC stream, each with its prefix. The bytes of a part are not copied: they are the last of the result. The
 * generated writer copies them twice, and leaves a buffer of the next power of two as garbage.
 */
export function createFramer(schema: DescMessage): (message: Message) => readonly Uint8Array[] {
  const tags = bytesParts(schema);
  return (message) => {
    const { part, $unknown } = message as Parted;
    const tag = tags.get(part?.case ?? '');
    if (tag !== undefined && $unknown === undefined && part?.value instanceof Uint8Array) {
      return [headOf(tag, part.value.length), part.value];
    }
    const bytes = toBinary(schema, message);
    const prefix = Buffer.alloc(PREFIX_BYTES);
    prefix.writeUInt32BE(bytes.length, 1);
    return [prefix, bytes];
  };
}

function headOf(tag: number, size: number): Buffer {
  const field = 1 + varintBytes(size);
  const head = Buffer.alloc(PREFIX_BYTES + field);
  head.writeUInt32BE(field + size, 1);
  head[PREFIX_BYTES] = tag;
  writeVarint(head, size, PREFIX_BYTES + 1);
  return head;
}
