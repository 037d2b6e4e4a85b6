import { create } from '@bufbuild/protobuf';
import { PodPortsSchema } from '@gantry/proto';
import { openChannels, openSpdy, SpdyClient, TunnelClient, upgrade } from '@gantry/streams/testing';
import { describe, expect, it } from 'vitest';
import { streamAgent, V4 } from './testing/stream-agent.ts';

const agent = streamAgent();

describe('port-forward', () => {
  const accept = () => agent.accept({ case: 'ports', value: create(PodPortsSchema) });
  const connectTo = async (client: SpdyClient, port: number, request: string) => {
    const headers = { port: String(port), requestID: request };
    const error = await client.open({ ...headers, streamType: 'error' });
    const data = await client.open({ ...headers, streamType: 'data' });
    return { error, data };
  };
  const tunnel = async (): Promise<SpdyClient> => {
    const key = Buffer.alloc(16).toString('base64');
    const protocol = 'SPDY/3.1+portforward.k8s.io';
    const headers = {
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': key,
      'sec-websocket-protocol': protocol,
    };
    const upgraded = await upgrade(agent.target, 'GET', await accept(), headers);
    expect(upgraded.headers['sec-websocket-protocol']).toBe(protocol);
    if (!('socket' in upgraded)) throw new Error(upgraded.text);
    return new SpdyClient(new TunnelClient(upgraded.socket));
  };

  it.each([
    ['SPDY', async () => openSpdy(agent.target, await accept(), 'portforward.k8s.io')],
    ['SPDY in a WebSocket', tunnel],
  ])('serves several connections over %s, and says why one fails', async (_, open) => {
    const client = await open();
    const one = await connectTo(client, 8080, '0');
    const bad = await connectTo(client, 1, '1');
    const two = await connectTo(client, 9090, '2');
    client.send(one.data, 'one', 'fin');
    client.send(two.data, 'two');
    await client.until(() => client.text(two.data) === 'TWO' && client.stream(one.error).state === 'ended');
    expect(client.text(one.data)).toBe('ONE');
    await client.until(() => client.stream(bad.error).state === 'ended');
    expect(client.text(bad.error)).toContain('error forwarding port 1 to pod');
    expect(client.stream(bad.data).state).toEqual({ reset: 5 });
    client.reset(two.data);
    // kubectl waits for this before it treats the connection as ended.
    await client.until(() => client.stream(two.error).state === 'ended');
    client.transport.destroy();
  });

  it.each([
    ['without a port', { streamType: 'data', requestID: '0' }],
    ['with a port that is none', { streamType: 'data', port: '65536', requestID: '0' }],
    ['of another type', { streamType: 'stdin', port: '80', requestID: '0' }],
  ])('refuses a stream %s', async (_, headers) => {
    const client = await openSpdy(agent.target, await accept(), 'portforward.k8s.io');
    const id = await client.open(headers);
    await client.until(() => typeof client.stream(id).state === 'object');
    client.transport.destroy();
  });

  it('takes what a client sends after the pod has closed its side', async () => {
    const client = await openSpdy(agent.target, await accept(), 'portforward.k8s.io');
    const { data, error } = await connectTo(client, 2000, '0');
    await client.until(() => [data, error].every((id) => client.stream(id).state === 'ended'));
    client.send(data, 'late', 'fin');
    await expect.poll(() => agent.notes.late).toEqual(['late', 'end']);
    client.transport.destroy();
  });

  it('ends with the pod where the client cannot close a side alone', async () => {
    const client = await openChannels(agent.target, `${await accept()}?ports=2000`, V4);
    await client.closed;
  });

  it('pairs the streams of clients that number nothing', async () => {
    const client = await openSpdy(agent.target, await accept(), 'portforward.k8s.io');
    await client.open({ streamType: 'error', port: '8080' });
    const data = await client.open({ streamType: 'data', port: '8080' });
    client.send(data, 'old', 'fin');
    await client.until(() => client.stream(data).state === 'ended');
    expect(client.text(data)).toBe('OLD');
    client.transport.destroy();
  });

  it('serves the ports of the query over channels', async () => {
    const client = await openChannels(agent.target, `${await accept()}?ports=8080&ports=1`, V4);
    await new Promise<void>((resolve) => {
      client.send(0, 'chan');
      client.socket.on('message', () => {
        if (client.text(0).includes('CHAN') && client.text(3).includes('ECONNREFUSED')) resolve();
      });
    });
    expect(Buffer.from(client.text(0), 'latin1').subarray(0, 2)).toEqual(Buffer.from([0x90, 0x1f]));
    client.socket.close();
    await client.closed;
  });

  it.each([
    ['', 'query parameter "port" is required'],
    ['?ports=', 'query parameter "port" cannot be empty'],
    ['?ports=0', 'port "0" must be > 0'],
    ['?ports=80,x', 'unable to parse "80,x" as a port: strconv.ParseUint: parsing "x": invalid syntax'],
  ])('refuses a WebSocket with the query "%s"', async (query, told) => {
    const key = Buffer.alloc(16).toString('base64');
    const headers = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
    expect(await upgrade(agent.target, 'GET', `${await accept()}${query}`, headers)).toMatchObject({
      code: 400,
      text: told,
    });
  });
});

describe('a port-forward with many connections', () => {
  const full = streamAgent();

  it('is one open stream of its pod, and each connection is a further one', async () => {
    const path = await full.accept({ case: 'ports', value: create(PodPortsSchema) });
    const client = await openSpdy(full.target, path, 'portforward.k8s.io');
    const connectionTo = async (requestID: number) => {
      const headers = { port: '8080', requestID: String(requestID) };
      const error = await client.open({ ...headers, streamType: 'error' });
      return { error, data: await client.open({ ...headers, streamType: 'data' }) };
    };
    const open = [];
    for (let i = 0; i < 127; i++) open.push(await connectionTo(i));
    const refused = await connectionTo(127);
    await expect.poll(() => client.stream(refused.error).state).toBe('ended');
    expect(client.text(refused.error)).toBe('the pod has 128 open streams, which is the most that a pod may have');
    expect(open.filter(({ error }) => client.stream(error).state === 'ended')).toEqual([]);
    client.transport.destroy();
  });
});
