import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { readBody } from './read-body.ts';

it('is given up where the client has gone before', async () => {
  const request = new IncomingMessage(new Socket());
  request.destroy();
  await new Promise((closed) => request.once('close', closed));
  await expect(readBody(request, AbortSignal.abort())).rejects.toThrow('did not arrive in time');
});
