import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { CONFIG_MAPS } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { connect } from './cluster.ts';

const { signal } = new AbortController();

describe('a connection by a kubeconfig', () => {
  let folder: string;
  let server: Server;
  let connections: number;
  let requests: { readonly url: string | undefined; readonly authorization: string | undefined }[];
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gantry-operator-'));
    [connections, requests] = [0, []];
    server = createServer((request, response) => {
      requests.push({ url: request.url, authorization: request.headers.authorization });
      response.setHeader('content-type', 'application/json');
      response.end('{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}');
    });
    server.on('connection', (_: Socket) => (connections += 1));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true });
  });
  const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const write = (user: object, cluster: object = {}): string => {
    const file = join(folder, 'config');
    const config = {
      clusters: [{ name: 'c', cluster: { server: url(), 'insecure-skip-tls-verify': true, ...cluster } }],
      users: [{ name: 'u', user }],
      contexts: [
        { name: 'x', context: { cluster: 'c', user: 'u', namespace: 'mine' } },
        { name: 'other', context: { cluster: 'c', user: 'u' } },
      ],
      'current-context': 'x',
    };
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...config }));
    return file;
  };

  it('sends the token, over one connection, below the path of the server', async () => {
    const kubeconfig = write({ token: 'secret' }, { server: `${url()}/prefix` });
    const reports: unknown[] = [];
    using cluster = connect({ name: 'n', kubeconfig, onExchange: (report) => reports.push(report) });
    await cluster.client.list(CONFIG_MAPS, {}, signal);
    await cluster.client.list(CONFIG_MAPS, {}, signal);
    expect(requests).toEqual(Array(2).fill({ url: '/prefix/api/v1/configmaps', authorization: 'Bearer secret' }));
    expect([connections, cluster.namespace]).toEqual([1, 'mine']);
    expect(reports[0]).toEqual({ method: 'GET', host: new URL(url()).host, code: 200 });
  });

  it('ends a request that is aborted before the credentials are there', async () => {
    using cluster = connect({ name: 'n', kubeconfig: write({ token: 'secret' }) });
    const stop = new AbortController();
    const listed = cluster.client.list(CONFIG_MAPS, {}, stop.signal);
    stop.abort(new TypeError('stopped'));
    await expect(listed).rejects.toThrow('stopped');
    expect(requests).toEqual([]);
  });

  it('closes its connections when it is disposed of', async () => {
    const closed = Promise.withResolvers<void>();
    server.keepAliveTimeout = 0;
    server.on('connection', (socket: Socket) => socket.on('close', () => closed.resolve()));
    {
      using cluster = connect({ name: 'n', kubeconfig: write({ token: 'secret' }) });
      await cluster.client.list(CONFIG_MAPS, {}, signal);
    }
    await closed.promise;
  });

  it('runs an exec plugin once for requests that start together', async () => {
    const runs = join(folder, 'runs');
    const apiVersion = 'client.authentication.k8s.io/v1';
    const credential = { apiVersion, kind: 'ExecCredential', status: { token: 'made' } };
    const program = `require('fs').appendFileSync(${JSON.stringify(runs)}, 'x'); process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`;
    const exec = { apiVersion, command: process.execPath, args: ['-e', program], interactiveMode: 'Never' };
    using cluster = connect({ name: 'n', kubeconfig: write({ exec }) });
    await Promise.all([1, 2, 3].map(() => cluster.client.list(CONFIG_MAPS, {}, signal)));
    expect([readFileSync(runs, 'utf8'), requests.length]).toEqual(['x', 3]);
  });

  it('asks an exec plugin for credentials', async () => {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: { token: 'made' },
    };
    const program = `process.stdout.write(${JSON.stringify(JSON.stringify(credential))})`;
    const apiVersion = 'client.authentication.k8s.io/v1';
    const exec = { apiVersion, command: process.execPath, args: ['-e', program], interactiveMode: 'Never' };
    using cluster = connect({ name: 'n', kubeconfig: write({ exec }), context: 'other' });
    await cluster.client.list(CONFIG_MAPS, {}, signal);
    expect([requests[0]?.authorization, cluster.namespace]).toEqual(['Bearer made', 'default']);
  });

  it('reports an exec plugin that fails as an unreachable server, because nothing was sent', async () => {
    const apiVersion = 'client.authentication.k8s.io/v1';
    const exec = { apiVersion, command: join(folder, 'missing'), interactiveMode: 'Never' };
    using cluster = connect({ name: 'n', kubeconfig: write({ exec }) });
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'b' } };
    await expect(cluster.client.create(CONFIG_MAPS, object, signal)).rejects.toMatchObject({
      reason: 'ServiceUnavailable',
    });
    expect(requests).toEqual([]);
  });

  it('goes through the proxy of the cluster', async () => {
    const tunnels: (string | undefined)[] = [];
    server.on('connect', (request, socket: Socket) => {
      tunnels.push(request.url);
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      server.emit('connection', socket);
    });
    const kubeconfig = write({ token: 'secret' }, { server: 'http://api.invalid:6443', 'proxy-url': url() });
    using cluster = connect({ name: 'n', kubeconfig });
    await cluster.client.list(CONFIG_MAPS, {}, signal);
    expect(tunnels).toEqual(['api.invalid:6443']);
    expect(requests).toEqual([{ url: '/api/v1/configmaps', authorization: 'Bearer secret' }]);
  });

  it('refuses a kubeconfig that names nothing to connect to', () => {
    const kubeconfig = write({});
    expect(() => connect({ name: 'n', kubeconfig, context: 'nope' })).toThrow('no context named "nope"');
    expect(() => connect({ name: 'n', kubeconfig: join(folder, 'none') })).toThrow(/kubeconfig: .*none cannot be read/);
    expect(() => connect({ name: 'n', kubeconfig: write({}, { server: 'api' }) })).toThrow('is no URL: api');
    expect(() => connect({ name: 'n', kubeconfig: write({}, { server: 'https://[' }) })).toThrow(
      'is no URL: https://[',
    );
  });

  it('refuses to guess a server when there is no kubeconfig', () => {
    vi.stubEnv('KUBECONFIG', undefined);
    vi.stubEnv('HOME', folder);
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(() => connect({ name: 'n' })).toThrow('there is no KUBECONFIG');
  });

  it('does not repeat the text of a file that it cannot parse', () => {
    const kubeconfig = join(folder, 'config');
    writeFileSync(kubeconfig, 'users:\n- name: u\n  user:\n    token: "hunter2\n  x: [\n');
    let failure: unknown;
    try {
      connect({ name: 'n', kubeconfig });
    } catch (error) {
      failure = error;
    }
    expect(inspect(failure)).toMatch(/config: yaml: .*line \d/);
    expect(inspect(failure)).not.toContain('hunter2');
  });
});
