import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { WebSocket } from 'ws';
import { describe, expect, it } from 'vitest';
import { upgrade } from '@gantry/streams/testing';
import { HANDSHAKE, PODS, SPDY, streamServer, targetOf } from './stream-server.ts';

const served = streamServer();

describe('logs over a WebSocket', () => {
  /** Opens a log and collects its messages as text. */
  async function openLog(query: string, ...protocols: string[]) {
    return await openLogOf('c', query, ...protocols);
  }

  async function openLogOf(container: string, query: string, ...protocols: string[]) {
    const { cert, key } = served.server.admin;
    const url = `${served.server.url.replace('https', 'wss')}${PODS}/logging/log?container=${container}&${query}`;
    const socket = new WebSocket(url, protocols, { ca: served.server.pki.ca, cert, key });
    const messages: { readonly text: string; readonly isBinary: boolean }[] = [];
    socket.on('message', (data: Buffer, isBinary: boolean) => messages.push({ text: data.toString(), isBinary }));
    const closed = new Promise<number>((resolve) => socket.once('close', resolve));
    await new Promise<void>((resolve, reject) => {
      socket.once('open', resolve);
      socket.once('unexpected-response', (_, { statusCode }) => reject(new Error(String(statusCode))));
    });
    return { socket, messages, closed };
  }

  it.each(['binary.k8s.io', ''])('gives the bytes after an empty message in %j', async (protocol) => {
    const { socket, messages, closed } = await openLog('', ...(protocol === '' ? [] : [protocol]));
    expect(await closed).toBe(1000);
    expect(socket.protocol).toBe(protocol);
    expect(messages[0]).toEqual({ text: '', isBinary: true });
    expect(messages.map(({ text }) => text).join('')).toBe('one\ntwo\n');
  });

  it('gives Base64 in base64.binary.k8s.io', async () => {
    const { messages, closed } = await openLog('', 'base64.binary.k8s.io');
    await closed;
    expect(messages[0]).toEqual({ text: '', isBinary: false });
    expect(messages.map(({ text }) => Buffer.from(text, 'base64').toString()).join('')).toBe('one\ntwo\n');
  });

  it('shows by the code of the closure that a log is not complete', async () => {
    const { messages, closed } = await openLogOf('breaks', '', 'binary.k8s.io');
    expect(await closed).toBe(1011);
    expect(messages.map(({ text }) => text).join('')).toBe('one\ntwo\n');
  });

  it('opens at once, though the container is silent', async () => {
    const { socket, messages } = await openLogOf('silent', 'follow=true', 'binary.k8s.io');
    await expect.poll(() => messages).toEqual([{ text: '', isBinary: true }]);
    const cancelled = served.notes.nextCancelled();
    socket.terminate();
    await cancelled;
  });

  it('stops the log when the client goes', async () => {
    const { socket } = await openLog('follow=true', 'binary.k8s.io');
    const cancelled = served.notes.nextCancelled();
    socket.terminate();
    await cancelled;
  });

  it('cuts off a client that sends much', async () => {
    const { socket, closed } = await openLog('follow=true', 'binary.k8s.io');
    const cancelled = served.notes.nextCancelled();
    socket.send(Buffer.alloc(1_000_000));
    expect(await closed).toBe(1009);
    await cancelled;
  });

  it('refuses unknown protocols, and what the agent refuses, before it answers 101', async () => {
    await expect(openLog('', 'v5.channel.k8s.io')).rejects.toThrow('403');
    const refused = await upgrade(targetOf(served.server), 'GET', `${PODS}/logging/log?container=gone`, HANDSHAKE);
    expect(refused).toMatchObject({ code: 400, text: expect.stringContaining('has no log') });
  });

  it('answers as usual when the client asks for another protocol', async () => {
    const answered = await upgrade(targetOf(served.server), 'GET', `${PODS}/logging/log?container=c`, SPDY);
    expect(answered).toMatchObject({ code: 200, text: 'one\ntwo\n' });
  });
});

describe('a log over HTTP', () => {
  it('has its headers at once, though the container is silent', async () => {
    const { cert, key } = served.server.admin;
    const path = `${PODS}/logging/log?container=silent&follow=true`;
    const asked = get(`${served.server.url}${path}`, { ca: served.server.pki.ca, cert, key, agent: false });
    const answered = await new Promise<IncomingMessage>((resolve, reject) => {
      asked.once('response', resolve);
      asked.once('error', reject);
    });
    expect([answered.statusCode, answered.headers['content-type']]).toEqual([200, 'text/plain']);
    const cancelled = served.notes.nextCancelled();
    asked.destroy();
    await cancelled;
  });
});
