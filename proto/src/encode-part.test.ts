import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { createPartEncoder } from './encode-part.ts';
import { LogChunkSchema, StreamInputSchema, StreamOutputSchema } from './gen/gantry/v1/agent_pb.ts';

describe('a part of bytes', () => {
  it.each([0, 1, 127, 128, 16_383, 16_384, 1_000_000])('of %i bytes is written as the general writer does', (size) => {
    for (const name of ['stdout', 'stderr'] as const) {
      const message = create(StreamOutputSchema, { part: { case: name, value: new Uint8Array(size).fill(7) } });
      const bytes = createPartEncoder(StreamOutputSchema)(message);
      expect(bytes?.equals(toBinary(StreamOutputSchema, message))).toBe(true);
      expect(fromBinary(StreamOutputSchema, bytes ?? new Uint8Array()).part.case).toBe(name);
    }
  });

  it('is the only one that is written so', () => {
    const encode = createPartEncoder(StreamInputSchema);
    const size = create(StreamInputSchema, { part: { case: 'resize', value: { width: 80, height: 24 } } });
    expect(encode(size)).toBeUndefined();
    expect(encode(create(StreamInputSchema))).toBeUndefined();
    // Not one of several parts.
    const chunk = create(LogChunkSchema, { data: new Uint8Array(3) });
    expect(createPartEncoder(LogChunkSchema)(chunk)).toBeUndefined();
  });
});
