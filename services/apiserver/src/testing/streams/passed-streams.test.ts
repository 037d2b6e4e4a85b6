import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { upgrade } from '@gantry/streams/testing';
import { describe, expect, it } from 'vitest';
import { callServer } from '../call-server.ts';
import { exec, HANDSHAKE, PODS, SPDY, streamServer, targetOf, V4 } from './stream-server.ts';

const served = streamServer();

/** Opens the client's connection with the protocol of the agent. */
async function open(path: string, headers: Readonly<Record<string, string>> = SPDY): Promise<Duplex> {
  const upgraded = await upgrade(targetOf(served.server), 'POST', path, headers);
  if (!('socket' in upgraded)) throw new Error(`${upgraded.code} ${upgraded.text}`);
  upgraded.socket.on('error', () => undefined);
  return upgraded.socket;
}

async function echoed(socket: Duplex, text: string): Promise<string> {
  socket.write(text);
  return String((await once(socket, 'data'))[0]);
}

async function rest(socket: Duplex): Promise<string> {
  let text = '';
  for await (const part of socket) text += String(part);
  return text;
}

describe('a stream', () => {
  it.each([
    [
      'exec',
      exec(['sh', '-c', 'x y'], 'stdin=1&stdout=1&stderr=1'),
      {
        case: 'exec',
        value: { command: ['sh', '-c', 'x y'], container: 'c', stdin: true, stdout: true, stderr: true },
      },
    ],
    // A terminal has only one output.
    ['a terminal', exec(['sh'], 'stdout=1&stderr=1&tty=1'), { case: 'exec', value: { tty: true, stderr: false } }],
    ['attach', `${PODS}/p/attach?stdout=1`, { case: 'attach', value: { command: [], container: 'c', tty: false } }],
    ['attach to a terminal', `${PODS}/terminal/attach?stdout=1`, { case: 'attach', value: { tty: true } }],
    ['port-forward', `${PODS}/p/portforward?ports=80&ports=81`, { case: 'ports' }],
  ])('of %s is passed on to the agent, in both directions', async (_, path, target) => {
    const socket = await open(path);
    expect(await echoed(socket, 'bytes')).toBe('BYTES');
    expect(served.notes.starts.at(-1)).toMatchObject({
      namespace: 'default',
      podUid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      user: 'kubernetes-admin',
      target,
    });
    expect(served.notes.requests.at(-1)).toMatchObject({
      url: expect.stringMatching(
        path.includes('ports') ? /^\/streams\/t\d+\?ports=80&ports=81$/ : /^\/streams\/t\d+\?$/,
      ),
      headers: { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': V4 },
    });
    socket.destroy();
  });

  it('shows the agent nothing of the client that it does not need', async () => {
    const headers = {
      ...SPDY,
      authorization: 'Bearer of-a-user',
      'impersonate-user': 'x',
      'impersonate-group': 'system:masters',
    };
    (await open(exec(['sh'], 'stdout=1'), headers)).destroy();
    const { headers: seen } = served.notes.requests.at(-1) ?? expect.unreachable();
    expect(Object.keys(seen).filter((name) => /authorization|impersonate/.test(name))).toEqual([]);
  });

  it('ends for the agent when its client goes', async () => {
    const { notes } = served;
    (await open(exec(['sh'], 'stdout=1'))).destroy();
    await expect.poll(() => notes.cancelled.length).toBe(notes.starts.length);
    await expect.poll(() => notes.closed).toBe(notes.requests.length);
  });

  it('is cut when its agent breaks off', async () => {
    const socket = await open(exec(['sh'], 'stdout=1&container=lost', 'two'));
    const ended = once(socket, 'close');
    socket.resume().write('now');
    await ended;
  });

  it('gets an error when its agent breaks off before it has answered', async () => {
    const path = exec(['sh'], 'stdout=1&container=mute', 'two');
    expect(await upgrade(targetOf(served.server), 'POST', path, SPDY)).toMatchObject({ code: 503 });
  });

  it('has the user of a token among the subprotocols', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const headers = { 'content-type': 'application/json' };
    await callServer(served.server, 'POST', path, { headers, body: JSON.stringify({ metadata: { name: 'browser' } }) });
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
    const { json } = await callServer(served.server, 'POST', `${path}/browser/token`, { headers, body });
    const { token } = json['status'] as unknown as { token: string };
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const { port, ca } = targetOf(served.server);
    const refused = await upgrade({ port, ca }, 'GET', exec(['sh'], 'stdout=1'), {
      ...HANDSHAKE,
      'sec-websocket-protocol': `${bearer}, ${V4}`,
    });
    expect(refused).toMatchObject({
      code: 403,
      text: expect.stringContaining('system:serviceaccount:default:browser'),
    });
  });

  it('is audited when it begins and when it ends, though it begins with GET', async () => {
    const path = exec(['sh'], 'stdout=1&container=c');
    const upgraded = await upgrade(targetOf(served.server), 'GET', path, HANDSHAKE);
    if ('socket' in upgraded) upgraded.socket.destroy();
    const events = () => served.audited.filter(({ requestURI }) => requestURI === path);
    while (events().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(events().map(({ stage, verb, responseStatus }) => [stage, verb, responseStatus?.code])).toEqual([
      ['ResponseStarted', 'get', 101],
      ['ResponseComplete', 'get', 101],
    ]);
  });

  it('ends when the server stops: the agent has the last word', async () => {
    const socket = await open(exec(['sh'], 'stdout=1'));
    expect(await echoed(socket, 'on')).toBe('ON');
    const [, text] = await Promise.all([served.server.stop(), rest(socket)]);
    expect(text).toBe('ended');
  });
});
