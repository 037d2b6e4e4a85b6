import { describe, expect, it } from 'vitest';
import { callServer } from '../call-server.ts';
import { upgrade } from '@gantry/streams/testing';
import { exec, HANDSHAKE, PODS, SPDY, streamServer, targetOf } from './stream-server.ts';

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
      'a container name must be specified for pod two, choose one of: [a gone v9 lost mute]',
    ],
    [
      'of a container that does not run',
      exec(['cat'], 'stdout=1&container=gone', 'two'),
      SPDY,
      404,
      'container not found ("gone")',
    ],
    ['without streams', exec(['cat'], ''), SPDY, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
  ])('%s is told so', async (_, path, headers, code, told) => {
    const refused = await upgrade(targetOf(served.server), 'POST', path, headers);
    expect(refused).toMatchObject({ code, text: expect.stringContaining(told) });
  });

  it('is told which protocols the agent has', async () => {
    const refused = await upgrade(targetOf(served.server), 'POST', exec(['cat'], 'stdout=1&container=v9', 'two'), SPDY);
    expect(refused).toMatchObject({
      code: 403,
      text: 'no v9 :(',
      headers: { 'x-accepted-stream-protocol-versions': 'v1' },
    });
  });

  it('is told that the terminal of a container has one output', async () => {
    const path = `${PODS}/terminal/attach?stdout=1&stderr=1`;
    const refused = await upgrade(targetOf(served.server), 'POST', path, SPDY);
    expect(refused).toMatchObject({ code: 500, text: expect.stringContaining('tty and stderr cannot both be true') });
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
    const asJane = { ...targetOf(served.server), cert: jane.cert, key: jane.key };
    const refused = await upgrade(asJane, 'GET', exec(['cat'], 'stdout=1'), HANDSHAKE);
    expect(refused).toMatchObject({
      code: 403,
      text: expect.stringContaining('cannot create resource \\"pods/exec\\"'),
    });
  });
});
