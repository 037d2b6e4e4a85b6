import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import { connect } from 'node:tls';
import type { FlowSchema, KubeObject } from '@gantry/objects';
import type { TlsMaterial } from '@gantry/tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CallOptions, callServer, type Reply } from './call-server.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const FLOW = '/apis/flowcontrol.apiserver.k8s.io/v1';
const MAPS = '/api/v1/namespaces/default/configmaps';
const JSON_TYPE = { 'content-type': 'application/json' };
let server: TestApiServer;
let alice: TlsMaterial;

function call(method: string, path: string, object?: object, as?: CallOptions['as']): Promise<Reply> {
  const body = object === undefined ? {} : { body: JSON.stringify(object) };
  return callServer(server, method, path, { headers: JSON_TYPE, ...body, ...(as === undefined ? {} : { as }) });
}

async function uidOf(path: string): Promise<string> {
  const { json } = await call('GET', `${FLOW}/${path}`);
  return (json as unknown as KubeObject).metadata.uid ?? '';
}

beforeAll(async () => {
  server = await startApiServer();
  alice = await server.pki.issue('alice', ['everything']);
  const reply = await call('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'everything' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'everything' }],
  });
  expect(reply.code).toBe(201);
});
afterAll(() => server.stop());

describe('flow control', () => {
  it('names the schema and the level of a request in its response', async () => {
    const { headers } = await call('GET', MAPS, undefined, alice);
    expect(headers['x-kubernetes-pf-flowschema-uid']).toBe(await uidOf('flowschemas/global-default'));
    expect(headers['x-kubernetes-pf-prioritylevel-uid']).toBe(
      await uidOf('prioritylevelconfigurations/global-default'),
    );
    const { headers: own } = await call('GET', MAPS);
    expect(own['x-kubernetes-pf-flowschema-uid']).toBe(await uidOf('flowschemas/exempt'));
  });

  it('follows a schema from the moment in which it is stored, and refuses as Kubernetes does', async () => {
    const level = {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'PriorityLevelConfiguration',
      metadata: { name: 'closed' },
      spec: {
        type: 'Limited',
        limited: { nominalConcurrencyShares: 0, lendablePercent: 0, limitResponse: { type: 'Reject' } },
      },
    };
    expect((await call('POST', `${FLOW}/prioritylevelconfigurations`, level)).code).toBe(201);
    const schema = {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name: 'bob' },
      spec: {
        priorityLevelConfiguration: { name: 'closed' },
        matchingPrecedence: 50,
        rules: [
          {
            subjects: [{ kind: 'User', user: { name: 'bob' } }],
            resourceRules: [{ verbs: ['create'], apiGroups: [''], resources: ['configmaps'], namespaces: ['*'] }],
          },
        ],
      },
    };
    expect((await call('POST', `${FLOW}/flowschemas`, schema)).code).toBe(201);
    const bob = await server.pki.issue('bob', ['everything']);
    // A level has at least one seat. This request holds it while the server waits for its body.
    const held = connect({
      host: '127.0.0.1',
      port: server.restPort,
      ca: server.pki.ca,
      cert: bob.cert,
      key: bob.key,
    });
    await once(held, 'secureConnect');
    held.write(`POST ${MAPS} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`);
    const executing = 'apiserver_flowcontrol_current_executing_requests{priority_level="closed",flow_schema="bob"} 1\n';
    while (!(await call('GET', '/metrics')).bytes.toString().includes(executing));
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' } };
    const refused = await call('POST', MAPS, object, bob);
    expect(refused.code).toBe(429);
    expect(refused.headers['retry-after']).toBe('1');
    expect(refused.bytes.toString()).toBe('Too many requests, please try again later.\n');
    expect((await call('POST', MAPS, object, alice)).code).toBe(201);
    held.destroy();
    const text = (await call('GET', '/metrics')).bytes.toString();
    const labels = 'priority_level="closed",flow_schema="bob"';
    expect(text).toContain(`apiserver_flowcontrol_rejected_requests_total{${labels},reason="concurrency-limit"} 1\n`);
    expect(text).toContain(`apiserver_flowcontrol_dispatched_requests_total{${labels}} 1\n`);
    expect(text).toContain('apiserver_flowcontrol_nominal_limit_seats{priority_level="closed"} 1\n');
    expect(text).toContain(`apiserver_flowcontrol_work_estimated_seats_count{${labels}} 2\n`);
    const everything = 'priority_level="global-default",flow_schema="global-default"';
    expect(text).toMatch(
      new RegExp(`apiserver_flowcontrol_request_execution_seconds_count{${everything},type="regular"} [1-9]`),
    );
  });

  it('says in the status of a schema whether its level exists', async () => {
    const schema = {
      apiVersion: 'flowcontrol.apiserver.k8s.io/v1',
      kind: 'FlowSchema',
      metadata: { name: 'lost' },
      spec: { priorityLevelConfiguration: { name: 'nowhere' }, matchingPrecedence: 60 },
    };
    expect((await call('POST', `${FLOW}/flowschemas`, schema)).code).toBe(201);
    const verdictOf = async (name: string): Promise<string | undefined> => {
      const { json } = await call('GET', `${FLOW}/flowschemas/${name}`);
      return (json as unknown as FlowSchema).status?.conditions?.map(({ type, status }) => `${type}=${status}`).join();
    };
    await expect.poll(() => verdictOf('lost')).toBe('Dangling=True');
    await expect.poll(() => verdictOf('exempt')).toBe('Dangling=False');
  });

  it('keeps the objects that every cluster has', async () => {
    const watch = https.get(`${server.url}${FLOW}/flowschemas?watch=true`, {
      ca: server.pki.ca,
      cert: server.admin.cert,
      key: server.admin.key,
      agent: false,
    });
    const [events] = (await once(watch, 'response')) as [IncomingMessage];
    const back = new Promise<void>((resolve) => {
      let text = '';
      events.on('data', (part: Buffer) => {
        text += part.toString();
        const afterDeletion = text.slice(text.indexOf('"type":"DELETED"'));
        if (text.includes('"type":"DELETED"') && afterDeletion.includes('"type":"ADDED"')) resolve();
      });
    });
    expect((await call('DELETE', `${FLOW}/flowschemas/service-accounts`)).code).toBe(200);
    await back;
    watch.destroy();
    expect((await call('GET', `${FLOW}/flowschemas/service-accounts`)).code).toBe(200);
  });
});
