import { expect, it } from 'vitest';
import { demultiplex, outputParts } from './demultiplex.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import { readLines } from './lines.ts';

function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

async function* inPieces(bytes: Buffer, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

it.each([1, 3, 8, 1000])('frames are split correctly for chunks of any size (%i bytes)', async (size) => {
  const bytes = Buffer.concat([frame(1, 'out\n'), frame(2, ''), frame(2, 'err: ü\n'), frame(1, 'end')]);
  const parts: Uint8Array[] = [];
  for await (const part of demultiplex(inPieces(bytes, size))) parts.push(part);
  expect(Buffer.concat(parts).toString()).toBe('out\nerr: ü\nend');
});

it.each([1, 3, 8, 1000])('parts say which output they are of, in their order (%i bytes)', async (size) => {
  const bytes = Buffer.concat([
    frame(1, 'a'),
    frame(1, 'b'),
    frame(2, 'c'),
    frame(2, ''),
    frame(1, 'd'),
    frame(2, 'e'),
  ]);
  const seen: { kind: string; text: string }[] = [];
  for await (const { kind, data } of outputParts(inPieces(bytes, size))) {
    const text = Buffer.from(data).toString();
    const last = seen.at(-1);
    if (last?.kind === kind) last.text += text;
    else seen.push({ kind, text });
  }
  expect(seen.map(({ kind, text }) => `${kind} ${text}`)).toEqual(['stdout ab', 'stderr c', 'stdout d', 'stderr e']);
});

it('payloads of one output that come together are one part', async () => {
  const bytes = Buffer.concat([frame(1, 'a'), frame(1, 'b'), frame(2, 'c')]);
  const parts: string[] = [];
  for await (const { data } of outputParts(inPieces(bytes, 1000))) parts.push(Buffer.from(data).toString());
  expect(parts).toEqual(['ab', 'c']);
});

it.each([1, 5, 1000])('lines are found for chunks of any size (%i bytes)', async (size) => {
  const lines: string[] = [];
  for await (const line of readLines(inPieces(Buffer.from('{"a":"ü"}\n\n{"b":2}\n{"c"'), size))) lines.push(line);
  expect(lines).toEqual(['{"a":"ü"}', '{"b":2}', '{"c"']);
});

it.each([
  [{ statusCode: 403, json: { message: 'Address already in use' } }, 'AddressInUse'],
  [
    { statusCode: 409, json: { message: 'Conflict. The container name "/x" is already in use by container "y".' } },
    'Conflict',
  ],
  [{ statusCode: 404, json: { message: 'No such image: x' } }, 'ImageNotFound'],
  [{ statusCode: 404, json: { message: 'No such container: x' } }, 'NotFound'],
  [{ statusCode: 500, json: { message: 'boom' } }, 'Runtime'],
  [new Error('connect ENOENT'), 'Runtime'],
])('the engine’s %j is %s', (error, code) => {
  expect(fromDocker(error, 'Runtime').code).toBe(code);
  expect(describeDockerError(error).message).not.toBe('');
});
