import { type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';

/** A message that is nothing but one of several parts. */
export type Parted = Message & { readonly part?: { readonly case?: string | undefined; readonly value?: unknown } };

/** Protobuf's type of a field that has a length. */
const LENGTH_DELIMITED = 2;

/** The parts of a message that are bytes: the tag that each has on the wire, by its name. None when the message is not parted. */
export function bytesParts(message: DescMessage): ReadonlyMap<string, number> {
  const isParted = message.fields.length > 0 && message.fields.every(({ oneof }) => oneof?.localName === 'part');
  const fields = isParted ? message.fields.filter(isShortBytes) : [];
  return new Map(fields.map(({ localName, number }) => [localName, (number << 3) | LENGTH_DELIMITED]));
}

/** Whether a field is bytes, and has a tag of one byte. */
function isShortBytes(field: DescField): boolean {
  return field.fieldKind === 'scalar' && field.scalar === ScalarType.BYTES && field.number < 16;
}
