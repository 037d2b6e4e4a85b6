import { duplexPair } from 'node:stream';
import { ManualClock } from '@gantry/base/testing';
import { describe, expect, it } from 'vitest';
import { openSpdyCommand } from './spdy-command.ts';
import { serveSpdyPorts } from './spdy-ports.ts';
import { SpdyClient } from './testing/spdy-client.ts';

const COMMAND = { stdin: true, stdout: true, stderr: false, tty: false, protocol: 'v4.channel.k8s.io' } as const;

describe('a client that does not open its streams', () => {
  it('of a command is left after 30 s', async () => {
    const [near, far] = duplexPair();
    const clock = new ManualClock();
    const opened = openSpdyCommand({ ...COMMAND, transport: far, clock });
    const client = new SpdyClient(near);
    const output = await client.open({ streamType: 'stdout' });
    await client.until(() => client.stream(output).state === 'open');
    await clock.advance(30_000);
    expect(await opened).toBeUndefined();
    await client.ended();
  });

  it('of a command may go before', async () => {
    const [near, far] = duplexPair();
    const opened = openSpdyCommand({ ...COMMAND, transport: far, clock: new ManualClock() });
    near.end();
    expect(await opened).toBeUndefined();
  });

  it('of a forwarded port is told so after 30 s, and may forward others', async () => {
    const [near, far] = duplexPair();
    const clock = new ManualClock();
    const served: number[] = [];
    const { signal } = new AbortController();
    const serve = ({ port }: { readonly port: number }) => void served.push(port);
    const connection = serveSpdyPorts({ transport: far, clock, serve, signal });
    const client = new SpdyClient(near);
    const lonely = await client.open({ streamType: 'error', port: '80', requestID: '7' });
    await client.until(() => client.stream(lonely).state === 'open');
    await clock.advance(30_000);
    await client.until(() => client.stream(lonely).state === 'ended');
    expect(client.text(lonely)).toBe('(request=7) timed out waiting for streams');
    for (const streamType of ['error', 'data']) await client.open({ streamType, port: '81', requestID: '8' });
    await client.until(() => client.stream(5).state === 'open');
    expect(served).toEqual([81]);
    near.end();
    await connection;
  });

  it('of a forwarded port cannot open one twice', async () => {
    const [near, far] = duplexPair();
    const { signal } = new AbortController();
    void serveSpdyPorts({ transport: far, clock: new ManualClock(), serve: () => undefined, signal });
    const client = new SpdyClient(near);
    await client.open({ streamType: 'error', port: '80', requestID: '7' });
    const second = await client.open({ streamType: 'error', port: '80', requestID: '7' });
    await client.until(() => typeof client.stream(second).state === 'object');
    near.end();
  });

  it('of a forwarded port may reset the first of two, which is forgotten at once', async () => {
    const [near, far] = duplexPair();
    const served: number[] = [];
    const { signal } = new AbortController();
    const serve = ({ port }: { readonly port: number }) => void served.push(port);
    void serveSpdyPorts({ transport: far, clock: new ManualClock(), serve, signal });
    const client = new SpdyClient(near);
    const request = { port: '80', requestID: '7' };
    const first = await client.open({ ...request, streamType: 'data' });
    await client.until(() => client.stream(first).state === 'open');
    client.reset(first);
    const again = await client.open({ ...request, streamType: 'data' });
    const last = await client.open({ ...request, streamType: 'error' });
    await client.until(() => client.stream(last).state !== 'opening');
    expect(client.stream(again).state).toBe('open');
    expect(served).toEqual([80]);
    near.end();
  });
});
