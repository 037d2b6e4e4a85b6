import { describe, expect, it } from 'vitest';
import { callServer } from '../call-server.ts';
import { openChannels, upgrade } from './stream-clients.ts';
import { exec, SPDY, streamServer, V4, V5 } from './stream-server.ts';

const served = streamServer();

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
    const refused = await upgrade(served.server, 'POST', path, headers);
    expect(refused).toMatchObject({ code, text: expect.stringContaining(told) });
  });

  it('tells clients of SPDY which protocols there are', async () => {
    const refused = await upgrade(served.server, 'POST', exec(['cat'], 'stdout=1'), {
      ...SPDY,
      'x-stream-protocol-version': 'v9',
    });
    expect(refused.headers['x-accepted-stream-protocol-versions']).toContain(V4);
  });

  it('is told to ask for an upgrade', async () => {
    const plain = await callServer(served.server, 'POST', exec(['cat'], 'stdout=1'));
    expect(plain).toMatchObject({ code: 400, json: { message: 'Upgrade request required' } });
    expect((await callServer(served.server, 'PUT', exec(['cat'], 'stdout=1'))).code).toBe(405);
  });

  it('needs the right to create, whatever its method', async () => {
    const jane = await served.server.pki.issue('jane', []);
    const rules = [{ apiGroups: [''], resources: ['pods/exec'], verbs: ['get'] }];
    const headers = { 'content-type': 'application/json' };
    const rbac = '/apis/rbac.authorization.k8s.io/v1/namespaces/default';
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', metadata: { name: 'reader' }, rules };
    await callServer(served.server, 'POST', `${rbac}/roles`, { headers, body: JSON.stringify(role) });
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'jane' }],
    };
    await callServer(served.server, 'POST', `${rbac}/rolebindings`, { headers, body: JSON.stringify(binding) });
    const key = Buffer.alloc(16).toString('base64');
    const websocket = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
    const refused = await upgrade(served.server, 'GET', exec(['cat'], 'stdout=1'), websocket, jane);
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
    await callServer(served.server, 'POST', path, { headers, body: JSON.stringify({ metadata: { name: 'browser' } }) });
    const body = JSON.stringify({ apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: {} });
    const { json } = await callServer(served.server, 'POST', `${path}/browser/token`, { headers, body });
    const { token } = json['status'] as unknown as { token: string };
    const bearer = `base64url.bearer.authorization.k8s.io.${Buffer.from(token).toString('base64url')}`;
    const key = Buffer.alloc(16).toString('base64');
    const asked = { upgrade: 'websocket', 'sec-websocket-version': '13', 'sec-websocket-key': key };
    const refused = await upgrade(
      served.server,
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
    await (await openChannels(served.server, path, V5)).closed;
    const events = () => served.audited.filter(({ requestURI }) => requestURI === path);
    while (events().length < 2) await new Promise((resolve) => setImmediate(resolve));
    expect(events().map(({ stage, verb, responseStatus }) => [stage, verb, responseStatus?.code])).toEqual([
      ['ResponseStarted', 'get', 101],
      ['ResponseComplete', 'get', 101],
    ]);
  });

  it('ends when the server stops', async () => {
    const client = await openChannels(served.server, exec(['hang'], 'stdout=1'), V5);
    while (client.text(1) !== 'on') await new Promise((resolve) => client.socket.once('message', resolve));
    const [, code] = await Promise.all([served.server.stop(), client.closed]);
    expect(code).toBe(1000);
    expect(client.text(3)).toContain('the API server has ended the stream');
  });
});
