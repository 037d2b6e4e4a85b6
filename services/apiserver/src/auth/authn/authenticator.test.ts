import { describe, expect, it } from 'vitest';
import { createAuthenticator, moveWebSocketToken } from './authenticator.ts';
import { authenticated } from './identity.ts';
import type { IncomingHttpHeaders } from 'node:http';
import { isReason } from '@gantry/objects';

const certificate = { subject: { CN: 'jane', O: ['dev'] }, raw: new Uint8Array([1]) };
const authenticate = createAuthenticator([
  { authenticate: (token) => Promise.resolve(token === 'good' ? authenticated('joe', []) : undefined) },
]);
const userOf = async (of: Parameters<typeof authenticate>[0]) => (await authenticate(of)).name;

describe('the authenticator', () => {
  it('knows users by certificate first, then by token, and all others as anonymous', async () => {
    expect(await userOf({ certificate, authorization: 'Bearer good' })).toBe('jane');
    expect(await userOf({ certificate: undefined, authorization: 'bearer good' })).toBe('joe');
    expect(await userOf({ certificate: 'untrusted', authorization: 'Bearer good' })).toBe('joe');
    expect(await userOf({ certificate: undefined, authorization: undefined })).toBe('system:anonymous');
  });

  it('refuses bad credentials, and does not take their sender for anonymous', async () => {
    const unauthorized = { reason: 'Unauthorized' };
    const bad = { certificate: undefined, authorization: 'Bearer bad' };
    await expect(authenticate(bad)).rejects.toMatchObject(unauthorized);
    await expect(authenticate({ certificate: 'untrusted', authorization: undefined })).rejects.toMatchObject(
      unauthorized,
    );
    const nameless = { subject: {}, raw: new Uint8Array([2]) };
    await expect(authenticate({ certificate: nameless, authorization: undefined })).rejects.toMatchObject(unauthorized);
  });
});

const TOKEN = `base64url.bearer.authorization.k8s.io.${Buffer.from('a~token?').toString('base64url')}`;

describe('a token among the subprotocols of a WebSocket', () => {
  it('becomes the Authorization header, and is offered to nothing else', () => {
    const headers: IncomingHttpHeaders = { 'sec-websocket-protocol': `v5.channel.k8s.io, ${TOKEN},v4.channel.k8s.io` };
    moveWebSocketToken(headers);
    expect(headers).toEqual({
      authorization: 'Bearer a~token?',
      'sec-websocket-protocol': 'v5.channel.k8s.io, v4.channel.k8s.io',
    });
  });

  it('replaces no other', () => {
    const headers = { authorization: 'Bearer x', 'sec-websocket-protocol': `${TOKEN}, a` };
    moveWebSocketToken(headers);
    expect(headers).toEqual({ authorization: 'Bearer x', 'sec-websocket-protocol': 'a' });
  });

  it.each([TOKEN, `${TOKEN}, ${TOKEN}, a`, 'base64url.bearer.authorization.k8s.io., a', `${TOKEN}=, a`])(
    'is refused: %s',
    (offered) => {
      const move = () => moveWebSocketToken({ 'sec-websocket-protocol': offered });
      expect(move).toThrow(expect.toSatisfy((error: unknown) => isReason(error, 'Unauthorized')));
    },
  );

  it('may be absent', () => {
    const headers = { 'sec-websocket-protocol': 'v5.channel.k8s.io' };
    moveWebSocketToken(headers);
    expect(headers).toEqual({ 'sec-websocket-protocol': 'v5.channel.k8s.io' });
  });
});
