import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { encodeListReply } from './encode-list-reply.ts';
import { ListReplySchema } from './gen/gantry/v1/object_pb.ts';

it.each([
  [[], '', ''],
  [[0, 1, 127, 128, 300], '42', ''],
  [[16_383, 16_384, 100_000], '9007199254740991', 'token'],
])('writes lists of objects of %j bytes as the general writer does', (sizes, resourceVersion, continueToken) => {
  const objects = sizes.map((size) => new Uint8Array(size).fill(size % 251));
  const reply = create(ListReplySchema, { objects, resourceVersion, continueToken });
  const bytes = encodeListReply(reply);
  expect(bytes.equals(toBinary(ListReplySchema, reply))).toBe(true);
  expect(fromBinary(ListReplySchema, bytes).objects).toHaveLength(sizes.length);
});
