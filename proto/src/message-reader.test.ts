import { create, type Message, toBinary } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import { createFramer } from './frame-message.ts';
import {
  type StreamInput,
  StreamInputSchema,
  type StreamOutput,
  StreamOutputSchema,
} from './gen/gantry/v1/agent_pb.ts';
import { MessageError, MessageReader } from './message-reader.ts';

const MOST = 256 * 1024;

type Output = StreamOutput['part'];

const part = (name: 'stdout' | 'stderr', data: string | Buffer): Output => ({ case: name, value: Buffer.from(data) });
const exit = { case: 'exit', value: { code: 7 } } as unknown as Output;

function framed(...parts: readonly Output[]): Buffer {
  const frame = createFramer(StreamOutputSchema);
  return Buffer.concat(parts.flatMap((one) => frame(create(StreamOutputSchema, { part: one }))));
}

/** A message as it stands on the wire, whatever it is. */
function prefixed(bytes: Uint8Array, length = bytes.length, compressed = 0): Buffer {
  const prefix = Buffer.from([compressed, 0, 0, 0, 0]);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, bytes]);
}

const readerOf = (maxBytes = 1024 * 1024) => new MessageReader<StreamOutput>(StreamOutputSchema, maxBytes);

function told({ part: { case: name, value } }: StreamOutput): string {
  return value instanceof Uint8Array ? `${name} ${Buffer.from(value).toString()}` : `${name} ${JSON.stringify(value)}`;
}

/** All that can be taken. */
function drain(reader: MessageReader<StreamOutput>): string[] {
  const all: string[] = [];
  for (let next = reader.take(); next !== undefined; next = reader.take()) all.push(told(next));
  return all;
}

describe('messages', () => {
  it.each([1, 2, 3, 7, 64, 100_000])('are read however they are cut, here into pieces of %i bytes', (size) => {
    const parts = [part('stdout', 'a'.repeat(300)), exit, part('stderr', 'b'.repeat(200)), part('stdout', 'c')];
    const bytes = framed(...parts);
    const reader = readerOf();
    const seen: string[] = [];
    for (let at = 0; at < bytes.length; at += size) {
      reader.add(bytes.subarray(at, at + size));
      seen.push(...drain(reader));
    }
    // Bytes of one part are a stream.
    const joined = seen.reduce<string[]>((all, one) => {
      const [name, ...rest] = one.split(' ');
      const last = all.at(-1);
      if (last?.startsWith(`${name} `) !== true) return [...all, one];
      return [...all.slice(0, -1), last + rest.join(' ')];
    }, []);
    const expected = [`stdout ${'a'.repeat(300)}`, 'exit', `stderr ${'b'.repeat(200)}`, 'stdout c'];
    expect(joined.map((one) => (one.startsWith('exit') ? 'exit' : one))).toEqual(expected);
    expect(reader.isWithinMessage).toBe(false);
  });

  it('of the same part that wait are given as one, of others apart, and in their order', () => {
    const reader = readerOf();
    reader.add(framed(part('stdout', 'a'), part('stdout', 'b'), part('stderr', 'c'), part('stdout', 'd')));
    expect(drain(reader)).toEqual(['stdout ab', 'stderr c', 'stdout d']);
  });

  it('are given as several when they are long', () => {
    const reader = readerOf();
    const long = Buffer.alloc(2 * MOST + 10, 'x');
    reader.add(framed(part('stdout', long)));
    expect(reader.waitingBytes).toBeGreaterThanOrEqual(long.length);
    expect(drain(reader).map((one) => one.length - 'stdout '.length)).toEqual([MOST, MOST, 10]);
    expect(reader.waitingBytes).toBe(0);
  });

  it('keep their bytes until the next is taken, although more comes', () => {
    const reader = readerOf();
    reader.add(framed(part('stdout', 'kept')));
    const taken = reader.take();
    reader.add(framed(part('stdout', 'more'), part('stderr', 'other')));
    expect(told(taken as StreamOutput)).toBe('stdout kept');
    expect(drain(reader)).toEqual(['stdout more', 'stderr other']);
  });

  it('use the same buffers again', () => {
    const reader = readerOf();
    const buffers = new Set<ArrayBufferLike>();
    for (let round = 0; round < 100; round++) {
      reader.add(framed(part('stdout', 'x'.repeat(5000))));
      const taken = reader.take()?.part.value as Uint8Array;
      buffers.add(taken.buffer);
    }
    expect(buffers.size).toBeLessThanOrEqual(3);
  });

  it('in turns of two parts take no more memory than they count for, and keep none', () => {
    const reader = readerOf();
    const turns = framed(...Array.from({ length: 500 }, (_, at) => part(at % 2 === 0 ? 'stdout' : 'stderr', 'x')));
    reader.add(turns);
    expect(reader.waitingBytes).toBeGreaterThanOrEqual(500 * 1024);
    const buffers = new Set<ArrayBufferLike>();
    for (let round = 0; round < 10; round++) {
      for (let next = reader.take(); next !== undefined; next = reader.take()) {
        buffers.add((next.part.value as Uint8Array).buffer);
      }
      reader.add(framed(part('stdout', 'y'.repeat(MOST))));
    }
    // What was taken is not kept: each round of long parts uses one of few buffers.
    const held = [...buffers].reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(held).toBeLessThan(500 * 1024 + 4 * MOST);
  });

  it('that are empty are read, and an empty part is nothing', () => {
    const reader = readerOf();
    reader.add(Buffer.concat([prefixed(Buffer.alloc(0)), framed(part('stdout', '')), framed(part('stdout', 'a'))]));
    expect(reader.take()?.part.case).toBeUndefined();
    expect(drain(reader)).toEqual(['stdout a']);
  });

  it('with more than the part are read as protobuf reads them: the last counts', () => {
    const both = (a: Output, b: Output): Buffer =>
      Buffer.concat(
        [a, b].map((one) => Buffer.from(toBinary(StreamOutputSchema, create(StreamOutputSchema, { part: one })))),
      );
    const reader = readerOf();
    reader.add(prefixed(both(part('stdout', 'a'), part('stderr', 'b'))));
    reader.add(prefixed(both(exit, part('stdout', 'c'))));
    expect(drain(reader)).toEqual(['stderr b', 'stdout c']);
  });

  it('that wait count for more than their bytes', () => {
    const reader = readerOf();
    for (let count = 0; count < 1000; count++) reader.add(prefixed(Buffer.alloc(0)));
    expect(reader.waitingBytes).toBeGreaterThanOrEqual(64_000);
  });

  it.each([
    ['is too long', prefixed(Buffer.alloc(0), 1001), 'has 1001 bytes, which is more than 1000'],
    ['is compressed', prefixed(Buffer.from('x'), 1, 1), 'is compressed'],
  ])('are refused when one %s', (_what, bytes, message) => {
    const add = () => readerOf(1000).add(bytes);
    expect(add).toThrow(MessageError);
    expect(add).toThrow(message);
  });

  it.each([
    ['a part that claims more than the message has', Buffer.from([0x12, 0x05, 1])],
    ['a length without an end', Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1])],
    ['a tag alone', Buffer.from([0x12])],
    ['a half length', Buffer.from([0x12, 0x80])],
    ['no protobuf', Buffer.from([0xff, 0xff])],
  ])('are refused when one is %s', (_what, bytes) => {
    const reader = readerOf();
    reader.add(prefixed(bytes));
    expect(() => reader.take()).toThrow(MessageError);
  });
});

describe('a part of bytes', () => {
  it.each([0, 1, 127, 128, 16_383, 16_384, 1_000_000])('of %i bytes is written as the general writer does', (size) => {
    const value = new Uint8Array(size).fill(7);
    const message = create(StreamOutputSchema, { part: { case: 'stderr', value } });
    const parts = createFramer(StreamOutputSchema)(message);
    expect(Buffer.concat(parts).equals(prefixed(toBinary(StreamOutputSchema, message)))).toBe(true);
    expect(parts.at(-1)).toBe(value);
  });

  it('is not the only thing that is written', () => {
    const frame = (message: Message) => Buffer.concat(createFramer(StreamInputSchema)(message));
    const size: StreamInput = create(StreamInputSchema, { part: { case: 'resize', value: { width: 80, height: 24 } } });
    for (const message of [size, create(StreamInputSchema)]) {
      expect(frame(message).equals(prefixed(toBinary(StreamInputSchema, message)))).toBe(true);
    }
  });
});
