import type { IncomingHttpHeaders } from 'node:http';
import { isReason } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { moveWebSocketToken } from './websocket-token.ts';

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
