import { createGrpcClient } from '@gantry/client';
import { resources } from '@gantry/kinds';
import { type Widget, WIDGETS, widgets } from '@gantry/kinds/testing';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callServer, type CallOptions, type Reply } from './call-server.ts';
import { dryRunOverGrpc } from './dry-run-over-grpc.ts';
import { isKubernetesGroup } from '../endpoints/router/not-served.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

const PATH = '/apis/example.dev/v1/namespaces/default/widgets';
const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };

let server: TestApiServer;

// The example kind needs only its file and this line.
beforeAll(async () => {
  server = await startApiServer({ resources: [...resources, widgets] });
});

afterAll(async () => {
  await server.stop();
});

function call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
  return callServer(server, method, path, options);
}

function widget(name: string, spec: object): Widget {
  return { apiVersion: 'example.dev/v1', kind: 'Widget', metadata: { name }, spec } as Widget;
}

function create(object: Widget): Promise<Reply> {
  return call('POST', PATH, { body: JSON.stringify(object) });
}

describe('a built-in kind that is one file and one line', () => {
  it('is discovered', async () => {
    const { json } = await call('GET', '/apis/example.dev/v1');
    expect(json).toMatchObject({
      resources: [
        { name: 'widgets', singularName: 'widget', kind: 'Widget', namespaced: true, shortNames: ['wd'] },
        { name: 'widgets/status', kind: 'Widget' },
      ],
    });
  });

  it('has an APIService, and its group comes after those of Kubernetes', async () => {
    const { code } = await call('GET', '/apis/apiregistration.k8s.io/v1/apiservices/v1.example.dev');
    expect(code).toBe(200);
    const { json } = await call('GET', '/apis');
    const groups: readonly { readonly name: string }[] = json.groups ?? [];
    const names = groups.map(({ name }) => name);
    expect(names.filter((name) => name === 'example.dev' || isKubernetesGroup(name)).at(-1)).toBe('example.dev');
  });

  it('is described by OpenAPI', async () => {
    const { json } = await call('GET', '/openapi/v3/apis/example.dev/v1');
    expect(JSON.stringify(json)).toContain('size is the length of the widget in millimetres.');
  });

  it('is created with defaults, a generation and an owner of its fields', async () => {
    const { code, json } = await create(widget('rest', { size: 3 }));
    expect(code).toBe(201);
    expect(json).toMatchObject({ metadata: { generation: 1 }, spec: { size: 3, color: 'red' } });
    expect(json).toMatchObject({ metadata: { managedFields: [{ fieldsV1: { 'f:spec': { 'f:size': {} } } }] } });
  });

  it('is validated by its schema and by its own rules', async () => {
    const wrong = await create(widget('wrong', { size: 0 }));
    expect([wrong.code, wrong.json.message]).toEqual([
      422,
      'Widget.example.dev "wrong" is invalid: spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1',
    ]);
    const shrunk = await call('PATCH', `${PATH}/rest`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ spec: { size: 2 } }),
    });
    expect([shrunk.code, shrunk.json.message]).toEqual([
      422,
      'Widget.example.dev "rest" is invalid: spec.size: Forbidden: a widget may not shrink',
    ]);
  });

  it('changes nothing but its status through the status', async () => {
    await create(widget('ready', { size: 3 }));
    const { code, json } = await call('PATCH', `${PATH}/ready/status`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ metadata: { labels: { a: 'b' } }, spec: { size: 4 }, status: { ready: true } }),
    });
    expect(code).toBe(200);
    expect(json).toMatchObject({ metadata: { generation: 1 }, spec: { size: 3 }, status: { ready: true } });
    expect(json.metadata).not.toHaveProperty('labels');
  });

  it('is printed and selected', async () => {
    await create(widget('blue', { size: 5, color: 'blue' }));
    const { json } = await call('GET', `${PATH}?fieldSelector=spec.color=blue`, { headers: TABLE });
    expect(json).toMatchObject({
      columnDefinitions: [{ name: 'Name' }, { name: 'Size', description: 'Length in millimetres.' }, {}, {}],
      rows: [{ cells: ['blue', 5, false, expect.any(String)] }],
    });
  });

  it('is created, applied, watched and deleted over gRPC', async () => {
    using client = createGrpcClient({
      addresses: [`localhost:${server.grpcPort}`],
      tls: fixedTls(server.admin),
      fieldManager: 'test',
    });
    const signal = AbortSignal.timeout(30_000);
    const inDefault = (spec: object) => {
      const object = widget('grpc', spec);
      return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
    };
    const { metadata } = await client.create(WIDGETS, inDefault({ size: 1 }), signal);
    const options = { fieldSelector: 'metadata.name=grpc', resourceVersion: metadata.resourceVersion ?? '' };
    await client.apply(WIDGETS, inDefault({ size: 2 }), {}, signal);
    await client.delete(WIDGETS, { namespace: 'default', name: 'grpc' }, {}, signal);
    const types: string[] = [];
    for await (const events of client.watch(WIDGETS, options, signal)) {
      for (const event of events) {
        if (event.type !== 'BOOKMARK') types.push(`${event.type} ${event.object.spec.size}`);
      }
      if (types.length >= 2) break;
    }
    expect(types).toEqual(['MODIFIED 2', 'DELETED 2']);
  });

  it('is judged by a dry run over gRPC, which stores nothing', async () => {
    const write = (object: Widget) => ({ verb: 'create', resource: WIDGETS, namespace: 'default', object }) as const;
    const made = await dryRunOverGrpc(server, write(widget('tried', { size: 1 })));
    expect(made).toMatchObject({ metadata: { generation: 1 }, spec: { size: 1, color: 'red' } });
    expect((await call('GET', `${PATH}/tried`)).code).toBe(404);
    await expect(dryRunOverGrpc(server, write(widget('tried', { size: 0 })))).rejects.toMatchObject({ code: 422 });
    const jane = await server.pki.issue('jane', ['developers']);
    const refused = dryRunOverGrpc(server, write(widget('tried', { size: 1 })), jane);
    await expect(refused).rejects.toMatchObject({ code: 403 });
  });
});
