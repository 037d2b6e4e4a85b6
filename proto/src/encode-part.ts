import { type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import { varintBytes, writeVarint } from './varint.ts';

/** A message that is nothing but one of several parts. */
type Parted = Message & { readonly part?: { readonly case?: string; readonly value?: unknown } };

/**
 * Encodes the messages of a stream whose part is bytes into a buffer of the exact size; undefined for others, which the generated
 * writer encodes. That one makes a buffer of the next power of two and copies its content twice, which for streams of bytes is most
 * of the work, and most of what the garbage collector has to do.
 */
export function createPartEncoder(message: DescMessage): (value: Message) => Buffer | undefined {
  const isParted = message.fields.length > 0 && message.fields.every(({ oneof }) => oneof?.localName === 'part');
  if (!isParted) return () => undefined;
  const numbers = new Map(
    message.fields.flatMap((field) =>
      field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES && field.number < 16
        ? [[field.localName, field.number] as const]
        : [],
    ),
  );
  return (value) => {
    const { part, $unknown } = value as Parted;
    const number = numbers.get(part?.case ?? '');
    if (number === undefined || $unknown !== undefined || !(part?.value instanceof Uint8Array)) return undefined;
    const bytes = part.value;
    const out = Buffer.allocUnsafe(1 + varintBytes(bytes.length) + bytes.length);
    out[0] = (number << 3) | 2;
    out.set(bytes, writeVarint(out, bytes.length, 1));
    return out;
  };
}
