import { systemClock } from '@gantry/base';
import { fixedTls } from '@gantry/tls';
import { WebSocket } from 'ws';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createAgentStreams } from '../../agents/agent-streams.ts';
import { parseAuditPolicy } from '../../audit/index.ts';
import { createAgentLogs } from '../../endpoints/logs/agent-logs.ts';
import { type AgentServer, startAgentServer } from '../agent-server.ts';
import { callServer } from '../call-server.ts';
import { startApiServer, type TestApiServer } from '../start-api-server.ts';
import { type AgentNotes, scriptedAgent } from './scripted-agent.ts';
import { openChannels, openSpdy, TunnelClient, upgrade } from './stream-clients.ts';
import { SpdyClient } from '../../streams/testing/spdy-client.ts';

const PODS = '/api/v1/namespaces/default/pods';
const V4 = 'v4.channel.k8s.io';
const V5 = 'v5.channel.k8s.io';
const SPDY = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': V4 };
const HANDSHAKE = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
const SUCCESS = '{"metadata":{},"status":"Success"}';

let agent: AgentServer;
let notes: AgentNotes;
let server: TestApiServer;
const audited: { stage: string; verb: string; requestURI: string; responseStatus?: { code: number } }[] = [];

/** The path of an exec in pod `p`. */
function exec(command: readonly string[], options: string, pod = 'p'): string {
  const words = command.map((word) => `command=${encodeURIComponent(word)}`).join('&');
  return `${PODS}/${pod}/exec?${words}&${options}`;
}

async function createPod(name: string, containers: readonly object[], nodeName?: string): Promise<void> {
  const spec = { containers, ...(nodeName === undefined ? {} : { nodeName }) };
  const body = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec });
  const headers = { 'content-type': 'application/json' };
  expect((await callServer(server, 'POST', PODS, { body, headers })).code).toBe(201);
}

beforeAll(async () => {
  const scripted = scriptedAgent();
  notes = scripted.notes;
  agent = await startAgentServer(scripted.service);
  const rules =
    '[{ level: Metadata, omitStages: [RequestReceived], resources: [{ group: "", resources: [pods/exec] }] }]';
  const policy = parseAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ${rules}`);
  server = await startApiServer({
    agentStreams: createAgentStreams(fixedTls(agent.client), systemClock, agent.port),
    agentLogs: createAgentLogs(fixedTls(agent.client), systemClock, agent.port),
    audit: { policy, append: (line) => audited.push(JSON.parse(line) as (typeof audited)[number]) },
  });
  const post = (path: string, object: object) =>
    callServer(server, 'POST', path, { body: JSON.stringify(object), headers: { 'content-type': 'application/json' } });
  await post('/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
  await post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } });
  const status = { status: { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] } };
  await callServer(server, 'PATCH', '/api/v1/nodes/node-a/status', {
    body: JSON.stringify(status),
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  await createPod('p', [{ name: 'c', image: 'i' }], 'node-a');
  await createPod('terminal', [{ name: 'c', image: 'i', tty: true }], 'node-a');
  await createPod(
    'two',
    [
      { name: 'a', image: 'i' },
      { name: 'gone', image: 'i' },
    ],
    'node-a',
  );
  await createPod('waiting', [{ name: 'c', image: 'i' }]);
  const names = ['c', 'gone', 'breaks'];
  await createPod(
    'logging',
    names.map((name) => ({ name, image: 'i' })),
    'node-a',
  );
  const running = { image: 'i', imageID: 'i', ready: true, restartCount: 0, state: { running: {} } };
  const containerStatuses = names.map((name) => ({ ...running, name, containerID: `engine://${name}` }));
  const patched = await callServer(server, 'PATCH', `${PODS}/logging/status`, {
    body: JSON.stringify({ status: { containerStatuses } }),
    headers: { 'content-type': 'application/merge-patch+json' },
  });
  expect(patched.code).toBe(200);
});

afterAll(async () => {
  await server.stop();
  await agent[Symbol.asyncDispose]();
});

/** Opens the streams of a command over SPDY, the error stream first, as kubectl does. */
async function spdyCommand(path: string, protocol: string, types: readonly string[]) {
  const client = await openSpdy(server, path, protocol);
  const ids: Record<string, number> = {};
  for (const streamType of ['error', ...types]) ids[streamType] = await client.open({ streamType });
  const id = (type: string): number => ids[type] ?? 0;
  return { client, id, text: (type: string) => client.text(id(type)) };
}

/** Until a number has not changed for many turns of the event loop, each of which reads every socket that has something. */
async function untilStill(count: () => number): Promise<void> {
  for (let before = -1, still = 0; still < 300; still = before === count() ? still + 1 : 0) {
    before = count();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('exec over SPDY', () => {
  it('carries input and its end, output, and the outcome', async () => {
    const { client, id, text } = await spdyCommand(exec(['cat'], 'stdin=1&stdout=1'), V4, ['stdin', 'stdout']);
    client.send(id('stdin'), 'one ');
    client.send(id('stdin'), 'two', 'fin');
    await client.ended();
    expect([text('stdout'), text('error')]).toEqual(['one two', SUCCESS]);
  });

  it.each([
    [
      V4,
      expect.stringContaining('"reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"7"}]}'),
    ],
    ['v3.channel.k8s.io', 'command terminated with non-zero exit code: command terminated with exit code 7'],
    ['channel.k8s.io', 'command terminated with non-zero exit code: command terminated with exit code 7'],
  ])('reports the exit code as %s does', async (protocol, told) => {
    const { client, text } = await spdyCommand(exec(['exit', '7'], 'stdout=1'), protocol, ['stdout']);
    await client.ended();
    expect(text('error')).toEqual(told);
  });

  it('waits for the streams that were asked for', async () => {
    const client = await openSpdy(server, exec(['both'], 'stdout=1&stderr=1'), V4);
    const error = await client.open({ streamType: 'error' });
    const output = await client.open({ streamType: 'stdout' });
    await client.until(() => client.stream(output).state === 'open');
    const unwanted = await client.open({ streamType: 'stdin' });
    await client.until(() => typeof client.stream(unwanted).state === 'object');
    expect(client.text(output)).toBe('');
    const errors = await client.open({ streamType: 'stderr' });
    await client.ended();
    expect([client.text(output), client.text(errors), client.text(error)]).toEqual(['out', 'err', SUCCESS]);
  });

  it('kills the process when the client goes', async () => {
    const { client, id } = await spdyCommand(exec(['hang'], 'stdout=1'), V4, ['stdout']);
    await client.until(() => client.text(id('stdout')) === 'on');
    const cancelled = notes.nextCancelled();
    client.transport.destroy();
    await cancelled;
  });
});

describe('logs over a WebSocket', () => {
  /** Opens one, and takes down its messages as texts. */
  async function openLog(query: string, ...protocols: string[]) {
    return await openLogOf('c', query, ...protocols);
  }

  async function openLogOf(container: string, query: string, ...protocols: string[]) {
    const { cert, key } = server.admin;
    const url = `${server.url.replace('https', 'wss')}${PODS}/logging/log?container=${container}&${query}`;
    const socket = new WebSocket(url, protocols, { ca: server.pki.ca, cert, key });
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

  it('stops the log when the client goes', async () => {
    const { socket } = await openLog('follow=true', 'binary.k8s.io');
    const cancelled = notes.nextCancelled();
    socket.terminate();
    await cancelled;
  });

  it('cuts off a client that sends much', async () => {
    const { socket, closed } = await openLog('follow=true', 'binary.k8s.io');
    const cancelled = notes.nextCancelled();
    socket.send(Buffer.alloc(1_000_000));
    expect(await closed).toBe(1009);
    await cancelled;
  });

  it('refuses unknown protocols, and what the agent refuses, before it answers 101', async () => {
    await expect(openLog('', 'v5.channel.k8s.io')).rejects.toThrow('403');
    const refused = await upgrade(server, 'GET', `${PODS}/logging/log?container=gone`, HANDSHAKE);
    expect(refused).toMatchObject({ code: 400, text: expect.stringContaining('has no log') });
  });

  it('answers as usual when the client asks for another protocol', async () => {
    const answered = await upgrade(server, 'GET', `${PODS}/logging/log?container=c`, SPDY);
    expect(answered).toMatchObject({ code: 200, text: 'one\ntwo\n' });
  });
});

describe('exec over a WebSocket', () => {
  it.each([
    [V5, SUCCESS],
    [V4, SUCCESS],
    ['v4.base64.channel.k8s.io', SUCCESS],
    ['channel.k8s.io', ''],
    ['base64.channel.k8s.io', ''],
  ])('gives both outputs and the outcome in %s', async (protocol, outcome) => {
    const client = await openChannels(server, exec(['both'], 'stdout=1&stderr=1'), protocol);
    expect(await client.closed).toBe(1000);
    expect(client.protocol).toBe(protocol);
    expect([client.text(1), client.text(2), client.text(3)]).toEqual(['out', 'err', outcome]);
  });

  it('does without a subprotocol', async () => {
    const client = await openChannels(server, exec(['both'], 'stdout=1'));
    await client.closed;
    expect(client.text(1)).toBe('out');
  });

  it('ends the input of v5 by its signal, and output continues', async () => {
    const client = await openChannels(server, exec(['cat'], 'stdin=1&stdout=1'), 'v4.channel.k8s.io', V5);
    expect(client.protocol).toBe(V5);
    client.send(0, 'kept');
    client.send(255, Buffer.from([0]));
    client.send(0, 'too late');
    await client.closed;
    expect([client.text(1), client.text(3)]).toEqual(['kept', SUCCESS]);
  });

  it.each([V5, 'v4.base64.channel.k8s.io'])('carries chunks of all sizes unchanged in %s', async (protocol) => {
    const sizes = [1, 300_000, 2, 65_535, 131_072, 0, 70_000, 131_071, 3];
    const chunks = sizes.map((size, index) => Buffer.alloc(size, `${index}`));
    const client = await openChannels(server, exec(['cat'], 'stdin=1&stdout=1'), protocol);
    for (const chunk of chunks) client.send(0, chunk);
    const all = Buffer.concat(chunks).toString();
    while (client.text(1).length < all.length) await new Promise((resolve) => client.socket.once('message', resolve));
    expect(client.text(1) === all).toBe(true);
    client.socket.close();
    await client.closed;
  });

  it('drops what comes on channels that are not read', async () => {
    const client = await openChannels(server, exec(['cat'], 'stdin=1&stdout=1'), V5);
    for (const channel of [1, 3, 4, 9]) client.send(channel, 'noise');
    client.send(255, Buffer.from([1]));
    client.send(0, 'x');
    client.send(255, Buffer.from([0]));
    await client.closed;
    expect(client.text(1)).toBe('x');
  });

  it('cuts off a client whose signal is none', async () => {
    const cancelled = notes.nextCancelled();
    const client = await openChannels(server, exec(['hang'], 'stdout=1'), V5);
    client.send(255, Buffer.from([0, 0]));
    expect(await client.closed).toBe(1002);
    await cancelled;
  });

  it('passes on sizes of the terminal, however they are cut', async () => {
    const client = await openChannels(server, exec(['sizes'], 'stdin=1&stdout=1&stderr=1&tty=1'), V5);
    client.send(4, '{"Width":80,"Hei');
    client.send(4, 'ght":24}\n{"Width":100,"Height":50}');
    await client.closed;
    expect(client.text(1)).toBe('80x24 100x50 ');
    // A terminal has one output.
    expect(notes.starts.at(-1)).toMatchObject({ tty: true, stderr: false, stdout: true });
  });

  it('tells a failure after all output', async () => {
    const client = await openChannels(server, exec(['break'], 'stdout=1'), V5);
    await client.closed;
    expect(client.text(1)).toBe('half');
    expect(JSON.parse(client.text(3))).toMatchObject({
      reason: 'InternalError',
      code: 500,
      message: expect.stringMatching(
        /^Internal error occurred: error executing command in container: .*the engine is gone/,
      ),
    });
  });

  it('holds the client back while the process does not read', async () => {
    const client = await openChannels(server, exec(['hang'], 'stdin=1&stdout=1'), V5);
    const megabyte = Buffer.alloc(1024 * 1024);
    for (let sent = 0; sent < 48; sent++) client.send(0, megabyte);
    await untilStill(() => client.socket.bufferedAmount);
    expect(client.socket.bufferedAmount).toBeGreaterThan(16 * megabyte.length);
    client.socket.terminate();
  });

  it('holds the process back while the client does not read, and kills it when the client goes', async () => {
    const client = await openChannels(server, exec(['flood'], 'stdout=1'), V5);
    client.socket.pause();
    await untilStill(() => notes.flooded);
    expect(notes.flooded).toBeLessThan(32 * 1024 * 1024);
    client.socket.terminate();
  });
});

describe('attach', () => {
  it('gives what the process prints, and ends well when it does', async () => {
    const client = await openChannels(server, `${PODS}/p/attach?stdout=1`, V5);
    await client.closed;
    expect([client.text(1), client.text(3)]).toEqual(['from the first process', SUCCESS]);
    expect(notes.starts.at(-1)).toMatchObject({ command: [], container: 'c', tty: false });
  });

  it('uses the terminal of the container, not of the client', async () => {
    const client = await openChannels(server, `${PODS}/terminal/attach?stdout=1`, V5);
    await client.closed;
    expect(notes.starts.at(-1)).toMatchObject({ tty: true });
    const refused = await upgrade(server, 'POST', `${PODS}/terminal/attach?stdout=1&stderr=1`, SPDY);
    expect(refused).toMatchObject({ code: 500, text: expect.stringContaining('tty and stderr cannot both be true') });
  });
});

describe('port-forward', () => {
  const path = `${PODS}/p/portforward`;
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
    const upgraded = await upgrade(server, 'GET', path, headers);
    expect(upgraded.headers['sec-websocket-protocol']).toBe(protocol);
    if (!('socket' in upgraded)) throw new Error(upgraded.text);
    return new SpdyClient(new TunnelClient(upgraded.socket));
  };

  it.each([
    ['SPDY', () => openSpdy(server, path, 'portforward.k8s.io')],
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
    // As kubectl waits for it before it takes the connection as ended.
    await client.until(() => client.stream(two.error).state === 'ended');
    client.transport.destroy();
  });

  it.each([
    ['without a port', { streamType: 'data', requestID: '0' }],
    ['with a port that is none', { streamType: 'data', port: '65536', requestID: '0' }],
    ['of another type', { streamType: 'stdin', port: '80', requestID: '0' }],
  ])('refuses a stream %s', async (_, headers) => {
    const client = await openSpdy(server, path, 'portforward.k8s.io');
    const id = await client.open(headers);
    await client.until(() => typeof client.stream(id).state === 'object');
    client.transport.destroy();
  });

  it('takes what a client sends after the pod has closed its side', async () => {
    const client = await openSpdy(server, path, 'portforward.k8s.io');
    const { data, error } = await connectTo(client, 2000, '0');
    await client.until(() => [data, error].every((id) => client.stream(id).state === 'ended'));
    client.send(data, 'late', 'fin');
    await expect.poll(() => notes.late).toEqual(['late', 'end']);
    client.transport.destroy();
  });

  it('ends with the pod where the client cannot close a side alone', async () => {
    const client = await openChannels(server, `${path}?ports=2000`, V4);
    await client.closed;
  });

  it('pairs the streams of clients that number nothing', async () => {
    const client = await openSpdy(server, path, 'portforward.k8s.io');
    await client.open({ streamType: 'error', port: '8080' });
    const data = await client.open({ streamType: 'data', port: '8080' });
    client.send(data, 'old', 'fin');
    await client.until(() => client.stream(data).state === 'ended');
    expect(client.text(data)).toBe('OLD');
    client.transport.destroy();
  });

  it('serves the ports of the query over channels', async () => {
    const client = await openChannels(server, `${path}?ports=8080&ports=1`, V4);
    await new Promise<void>((resolve) => {
      client.send(0, 'chan');
      client.socket.on('message', () => {
        if (client.text(0).includes('CHAN') && client.text(3).includes('refused')) resolve();
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
    expect(await upgrade(server, 'GET', `${path}${query}`, headers)).toMatchObject({ code: 400, text: told });
  });
});

describe('a request for a stream that cannot be served', () => {
  it.each([
    ['of a pod that is not there', exec(['cat'], 'stdout=1', 'none'), SPDY, 404, 'pods \\"none\\" not found'],
    [
      'of a pod without a node',
      exec(['cat'], 'stdout=1', 'waiting'),
      SPDY,
      400,
      'pod waiting does not have a host assigned',
    ],
    [
      'of a container that is not in the pod',
      exec(['cat'], 'stdout=1&container=x'),
      SPDY,
      400,
      'container x is not valid for pod p',
    ],
    [
      'without a container where there are two',
      exec(['cat'], 'stdout=1', 'two'),
      SPDY,
      400,
      'a container name must be specified for pod two, choose one of: [a gone]',
    ],
    [
      'of a container that does not run',
      exec(['cat'], 'stdout=1&container=gone', 'two'),
      SPDY,
      404,
      'container not found ("gone")',
    ],
    ['without streams', exec(['cat'], ''), SPDY, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    [
      'without a subprotocol',
      exec(['cat'], 'stdout=1'),
      { upgrade: 'SPDY/3.1' },
      400,
      'unable to upgrade: header X-Stream-Protocol-Version does not exist',
    ],
    [
      'with unknown subprotocols',
      exec(['cat'], 'stdout=1'),
      { ...SPDY, 'x-stream-protocol-version': 'v9' },
      403,
      'client supports [v9], server accepts [v4.channel.k8s.io',
    ],
    ['with another protocol', exec(['cat'], 'stdout=1'), { ...SPDY, upgrade: 'echo' }, 400, 'missing upgrade headers'],
    [
      'with a WebSocket handshake that is none',
      exec(['cat'], 'stdout=1'),
      { upgrade: 'websocket' },
      400,
      'the WebSocket handshake is invalid',
    ],
  ])('%s is told so', async (_, path, headers, code, told) => {
    const refused = await upgrade(server, 'POST', path, headers);
    expect(refused).toMatchObject({ code, text: expect.stringContaining(told) });
  });

  it('tells clients of SPDY which protocols there are', async () => {
    const refused = await upgrade(server, 'POST', exec(['cat'], 'stdout=1'), {
      ...SPDY,
      'x-stream-protocol-version': 'v9',
    });
    expect(refused.headers['x-accepted-stream-protocol-versions']).toContain(V4);
  });

  it('is told to ask for an upgrade', async () => {
    const plain = await callServer(server, 'POST', exec(['cat'], 'stdout=1'));
    expect(plain).toMatchObject({ code: 400, json: { message: 'Upgrade request required' } });
    expect((await callServer(server, 'PUT', exec(['cat'], 'stdout=1'))).code).toBe(405);
  });

  it('needs the right to create, whatever its method', async () => {
    const jane = await server.pki.issue('jane', []);
    const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }];
    const headers = { 'content-type': 'application/json' };
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'reader' }, rules };
    await callServer(server, 'POST', `${rbac}/roles`, { headers, body: JSON.stringify(role) });
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    };
    await callServer(server, 'POST', `${rbac}/rolebindings`, { headers, body: JSON.stringify(binding) });
    const key = Buffer.alloc(16).toString('base64');
    const websocket = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
    const refused = await upgrade(server, 'GET', exec(['cat'], 'stdout=1'), websocket, jane);
    expect(refused).toMatchObject({
      code: 403,
      text: expect.stringContaining('cannot create resource \\"pods/exec\\"'),
    });
  });
});

describe('a stream', () => {
  it('has the user of a token among the subprotocols', async () => {
    const path = '/api/v1/namespaces/default/serviceaccounts';
    const headers = { 'content-type': 'application/json' };
    await callServer(server, 'POST', path, { headers, body: JSON.stringify({ metadata: { name: 'browser' } }) });
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
    const { json } = await callServer(server, 'POST', `${path}/browser/token`, { headers, body });
    const { token } = json['status'] as unknown as { token: string };
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const key = Buffer.alloc(16).toString('base64');
    const asked = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
    const refused = await upgrade(
      server,
      'GET',
      exec(['both'], 'stdout=1'),
      { ...asked, 'sec-websocket-protocol': `${bearer}, ${V5}` },
      'anonymous',
    );
    expect(refused).toMatchObject({
      code: 403,
      text: expect.stringContaining('system:serviceaccount:default:browser'),
    });
  });

  it('is audited when it begins and when it ends, though it begins with GET', async () => {
    const path = exec(['both'], 'stdout=1&container=c');
    await (await openChannels(server, path, V5)).closed;
    const events = () => audited.filter(({ requestURI }) => requestURI === path);
    while (events().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(events().map(({ stage, verb, responseStatus }) => [stage, verb, responseStatus?.code])).toEqual([
      ['ResponseStarted', 'get', 101],
      ['ResponseComplete', 'get', 101],
    ]);
  });

  it('ends when the server stops', async () => {
    const client = await openChannels(server, exec(['hang'], 'stdout=1'), V5);
    while (client.text(1) !== 'on') await new Promise((resolve) => client.socket.once('message', resolve));
    const [, code] = await Promise.all([server.stop(), client.closed]);
    expect(code).toBe(1000);
    expect(client.text(3)).toContain('the API server has ended the stream');
  });
});
