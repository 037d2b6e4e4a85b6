import { once } from 'node:events';
import http2, { type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { CONFIG_MAPS } from '@gantry/objects';
import { expect, it, onTestFinished } from 'vitest';
import { httpKind } from './http-endpoint.ts';

const collection = { resource: CONFIG_MAPS, namespace: 'default' };

it.each<[string, (stream: ServerHttp2Stream) => void, number, string]>([
  ['is cancelled', (stream) => stream.close(http2.constants.NGHTTP2_CANCEL), 60_000, 'the server ended a request'],
  ['is not answered', () => undefined, 50, 'no byte for 50 ms'],
])('a request that %s fails', async (_, onStream, silenceMs, message) => {
  const server = http2.createServer().on('stream', (stream) => {
    stream.on('error', () => undefined);
    onStream(stream);
  });
  onTestFinished(() => void server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  using endpoint = await httpKind({ server: `http://127.0.0.1:${port}` }, 'JSON', silenceMs).open(1);
  await expect(endpoint.get(collection, 'a')).rejects.toThrow(message);
});
