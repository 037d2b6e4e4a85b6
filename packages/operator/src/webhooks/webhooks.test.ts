import { connect as connectTls, type PeerCertificate } from 'node:tls';
import { once } from 'node:events';
import { startApiServer, type TestApiServer } from '@gantry/apiserver/testing';
import { freePort, ManualClock } from '@gantry/base/testing';
import { createHttpClient, type HttpClient, parseKubeconfig } from '@gantry/client';
import {
  CONFIG_MAPS,
  type ConfigMap,
  CUSTOM_RESOURCE_DEFINITIONS,
  MUTATING_WEBHOOK_CONFIGURATIONS,
  NAMESPACES,
  type Resource,
  SECRETS,
  VALIDATING_WEBHOOK_CONFIGURATIONS,
} from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  createOperator,
  defineKind,
  mutating,
  type Operator,
  spoke,
  validating,
  webhookManifests,
  type WebhookOptions,
  withVersions,
} from '../index.ts';

const { signal } = new AbortController();
const DAY_MS = 86_400_000;

const V1 = defineKind({ group: 'example.com', version: 'v1', kind: 'Backup', spec: z.object({ every: z.string() }) });
const V2 = defineKind({
  group: 'example.com',
  version: 'v2',
  kind: 'Backup',
  spec: z.object({ schedule: z.string() }),
});
const BACKUPS = withVersions(V2, [
  spoke(V2, V1, {
    toHub: ({ spec }) => ({ spec: { schedule: spec.every } }),
    fromHub: ({ spec: { schedule } }) => {
      if (schedule === 'never') throw new RangeError('v1 has no never');
      return { spec: { every: schedule } };
    },
  }),
]);
const admission = [
  validating({
    name: 'secrets.config-maps.example.com',
    for: CONFIG_MAPS,
    operations: ['CREATE', 'UPDATE', 'DELETE'],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'hooked' } },
    validate: (request) => {
      if (request.operation === 'DELETE') return request.old.data?.['kept'] === undefined ? {} : { denied: 'is kept' };
      if (request.object.data?.['fails'] !== undefined) throw new RangeError('broken webhook');
      return request.object.data?.['password'] === undefined ? {} : { denied: 'data.password: belongs in a Secret' };
    },
  }),
  mutating({
    name: 'owner.config-maps.example.com',
    for: CONFIG_MAPS,
    operations: ['CREATE'],
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'hooked' } },
    mutate: ({ object, user }) => ({ ...object, data: { ...object.data, owner: user.username ?? '' } }),
  }),
];

/** What depends on watches of the server takes a moment. */
async function eventually<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (attempt === 500) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('the webhooks of an operator, on an API server', () => {
  const stop = new AbortController();
  // Both the first certificate and the one after it are valid at the API server's time.
  const clock = new ManualClock(Date.now() - 61 * DAY_MS);
  let server: TestApiServer;
  let client: HttpClient;
  let operator: Operator;
  let running: Promise<void>;
  let port: number;
  let options: { readonly name: string; readonly webhooks: WebhookOptions };
  beforeAll(async () => {
    server = await startApiServer();
    client = createHttpClient({ ...parseKubeconfig(server.kubeconfig), fieldManager: 'hooks' });
    await client.create(NAMESPACES, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'hooked' } }, signal);
    port = await freePort();
    const webhooks = { admission, conversions: [BACKUPS], host: '127.0.0.1', port, url: `https://127.0.0.1:${port}` };
    options = { name: 'hooks', webhooks };
    const resources: Readonly<Record<string, Resource>> = {
      CustomResourceDefinition: CUSTOM_RESOURCE_DEFINITIONS,
      ValidatingWebhookConfiguration: VALIDATING_WEBHOOK_CONFIGURATIONS,
      MutatingWebhookConfiguration: MUTATING_WEBHOOK_CONFIGURATIONS,
    };
    for (const manifest of webhookManifests(options, { namespace: 'default' })) {
      const resource = resources[manifest.kind];
      if (resource === undefined) throw new TypeError(`no resource of ${manifest.kind}`);
      await client.create(resource, manifest, signal);
    }
    const cluster = { client, namespace: 'default', [Symbol.dispose]: () => undefined };
    operator = createOperator({ ...options, controllers: [], cluster, clock, logger: silentLogger });
    running = operator.runUntil(stop.signal);
    await eventually(async () => expect((await bundles()).every((one) => one !== undefined)).toBe(true));
  });
  afterAll(async () => {
    stop.abort();
    await running;
    client[Symbol.dispose]();
    await server.stop();
  });
  const configMap = (name: string, data: Record<string, string>): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'hooked' },
    data,
  });
  const create = (name: string, data: Record<string, string>): Promise<ConfigMap> =>
    client.create(CONFIG_MAPS, configMap(name, data), signal);
  const bundles = async (): Promise<readonly (string | undefined)[]> => {
    const at = { namespace: '', name: 'hooks' };
    const validatingOnes = await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, at, signal);
    const mutatingOnes = await client.get(MUTATING_WEBHOOK_CONFIGURATIONS, at, signal);
    const crd = await client.get(CUSTOM_RESOURCE_DEFINITIONS, { namespace: '', name: 'backups.example.com' }, signal);
    return [...(validatingOnes.webhooks ?? []), ...(mutatingOnes.webhooks ?? []), crd.spec.conversion?.webhook].map(
      (webhook) => webhook?.clientConfig?.caBundle,
    );
  };
  const refusal = (work: Promise<unknown>): Promise<string> => work.then(() => 'allowed', String);

  it('decide about writes, by a certificate that the server trusts', async () => {
    // The server reads the changed configuration soon.
    const { data } = await eventually(() => create('first', { a: '1' }));
    expect(data).toEqual({ a: '1', owner: 'kubernetes-admin' });
    expect(await refusal(create('second', { password: 'x' }))).toContain(
      'admission webhook "secrets.config-maps.example.com" denied the request: data.password: belongs in a Secret',
    );
    await create('third', { kept: '' });
    expect(await refusal(client.delete(CONFIG_MAPS, { namespace: 'hooked', name: 'third' }, {}, signal))).toContain(
      'is kept',
    );
  });

  it('fail writes when they fail, and are counted', async () => {
    expect(await refusal(create('fourth', { fails: '' }))).toContain('broken webhook');
    const metrics = await operator.metrics();
    expect(metrics).toMatch(/controller_runtime_webhook_requests_total\{webhook="secrets\.\S+",code="500"\} 1\n/);
    expect(metrics).toMatch(/controller_runtime_webhook_requests_total\{webhook="owner\.\S+",code="200"\} \d+\n/);
  });

  it('convert objects between versions', async () => {
    const backup = (spec: { every: string }) => {
      return { apiVersion: 'example.com/v1', kind: 'Backup', metadata: { name: 'db', namespace: 'default' }, spec };
    };
    await eventually(() => client.create(V1, backup({ every: '@daily' }), signal));
    const key = { namespace: 'default', name: 'db' };
    expect((await client.get(BACKUPS, key, signal)).spec).toEqual({ schedule: '@daily' });
    await client.patch(BACKUPS, key, { merge: { spec: { schedule: '@hourly' } } }, signal);
    expect((await client.list(V1, {}, signal)).items.map(({ spec }) => spec)).toEqual([{ every: '@hourly' }]);
    await client.patch(BACKUPS, key, { merge: { spec: { schedule: 'never' } } }, signal);
    expect(await refusal(client.get(V1, key, signal))).toContain('v1 has no never');
  });

  it('refuse what is no review', async () => {
    const ask = async (path: string, body: string): Promise<string> => {
      const { request } = await import('node:https');
      const sent = request({ port, host: '127.0.0.1', path, method: 'POST', rejectUnauthorized: false });
      sent.end(body);
      const [response] = (await once(sent, 'response')) as [AsyncIterable<Buffer> & { readonly statusCode: number }];
      const chunks = [];
      for await (const chunk of response) chunks.push(chunk);
      return `${response.statusCode} ${Buffer.concat(chunks).toString()}`;
    };
    const path = '/admission/owner.config-maps.example.com';
    expect(await ask('/admission/other', '{}')).toBe('404 not found');
    expect(await ask(path, 'x')).toMatch(/^400 .*the body is no JSON/);
    expect(await ask(path, 'null')).toMatch(/^400 .*the body must be a AdmissionReview of admission.k8s.io\/v1/);
    const review = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', request: { operation: 'CREATE' } };
    expect(await ask(path, JSON.stringify(review))).toMatch(/^400 .*request.uid: is required/);
  });

  it('renew the certificate, and every write works meanwhile', async () => {
    const served = (): Promise<string> => servedBy(port);
    const [before] = await bundles();
    const first = await served();
    await clock.advance(60 * DAY_MS);
    const during = await eventually(async () => {
      // A round that has begun before goes on at the new time, or the next one does it.
      await clock.advance(60_000);
      const [bundle] = await bundles();
      expect(bundle).not.toBe(before);
      return Buffer.from(bundle ?? '', 'base64').toString();
    });
    expect(during.match(/BEGIN CERTIFICATE/g)).toHaveLength(2);
    expect(await served()).toBe(first);
    await create('during', {});
    await eventually(async () => {
      await clock.advance(3_700_000);
      expect(await served()).not.toBe(first);
    });
    await eventually(() => create('after', {}));
    const secret = await client.get(SECRETS, { namespace: 'default', name: 'hooks-webhooks' }, signal);
    expect(Object.keys(secret.data ?? {}).sort()).toEqual(['ca.crt', 'tls.crt', 'tls.key']);
  });

  it('are trusted again when the manifests are replaced', async () => {
    const at = { namespace: '', name: 'hooks' };
    const [bundle] = await bundles();
    const { webhooks = [], ...rest } = await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, at, signal);
    const without = webhooks.map(({ clientConfig: { caBundle: _bundle, ...clientConfig }, ...webhook }) => {
      return { ...webhook, clientConfig };
    });
    await client.update(VALIDATING_WEBHOOK_CONFIGURATIONS, { ...rest, webhooks: without }, signal);
    await eventually(async () => {
      await clock.advance(60_000);
      expect((await bundles())[0]).toBe(bundle);
    });
  });
});

/** The serial number of the certificate that a server presents. */
async function servedBy(port: number): Promise<string> {
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  const { serialNumber }: PeerCertificate = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}
