import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { type EventRecorder, Informers } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import {
  ENDPOINT_SLICES,
  type Ingress,
  INGRESS_CLASSES,
  INGRESSES,
  type KubeObject,
  type Resource,
  type Secret,
  SECRETS,
  SERVICES,
} from '@gantry/objects';
import { createMetrics, silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ClusterView, WATCHED_RESOURCES } from './cluster-view.ts';
import { PlannedReader } from './cluster/planned-reader.ts';
import { Reports } from './cluster/reports.ts';
import { SecretWatch } from './cluster/secret-watch.ts';
import type { ProxyState } from './haproxy/proxy-state.ts';
import { type Programmed, Programmer } from './programmer.ts';
import { endpointFilter } from './rules/endpoints.ts';
import type { HostOwners } from './rules/hosts.ts';
import { certificateFor, type KeyPair } from './testing/certificates.ts';
import { ingress, OURS, rule, service, slice } from './testing/objects.ts';

const certificate = await certificateFor('a.example');

function secret(key: string, { certificate: cert, key: privateKey }: KeyPair): Secret {
  const [namespace = '', name = ''] = key.split('/');
  const data = {
    'tls.crt': Buffer.from(cert).toString('base64'),
    'tls.key': Buffer.from(privateKey).toString('base64'),
  };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name }, data };
}

/** Takes states like HAProxy. */
class RecordedProxy implements Programmed {
  readonly states: ProxyState[] = [];
  readonly refusedCertificates = new Map<string, string>();
  rest: 'none' | 'soon' | 'later' = 'none';
  failure: Error | undefined;

  apply(state: ProxyState): Promise<'new worker' | 'same worker'> {
    const { failure } = this;
    this.failure = undefined;
    if (failure !== undefined) return Promise.reject(failure);
    this.states.push(state);
    return Promise.resolve('same worker');
  }

  get last(): ProxyState {
    const last = this.states.at(-1);
    if (last === undefined) throw new RangeError('nothing was programmed');
    return last;
  }

  /** Returns the endpoints of a prefix. */
  targets(key: string): readonly string[] {
    const [backend = ''] = (this.last.prefix.get(key) ?? '').split('.');
    return [...(this.last.servers.get(backend)?.values() ?? [])].map(({ target }) => target);
  }
}

describe('the programmer', () => {
  const stop = { abort: new AbortController() };
  let clock: ManualClock;
  let client: FakeObjectClient;
  let proxy: RecordedProxy;
  let programmer: Programmer;
  let events: string[];
  /** The owners of hosts that were stored. */
  let stored: HostOwners[];

  const put = async <T extends KubeObject>(resource: Resource<T>, object: T) => {
    const { namespace, name } = object.metadata;
    const known = client
      .all(resource)
      .find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
    if (known === undefined) await client.put(resource, object);
    else {
      const metadata = { ...known.metadata, ...object.metadata, uid: known.metadata.uid ?? '' };
      await client.update(resource, { ...object, metadata }, stop.abort.signal);
    }
    await clock.advance(1000);
  };
  const remove = async (resource: Resource, key: string) => {
    const [namespace = '', name = ''] = key.split('/');
    await client.delete(resource, { namespace, name }, {}, stop.abort.signal);
    await clock.advance(1000);
  };
  const generation = (of: Ingress, number: number): Ingress => ({
    ...of,
    metadata: { ...of.metadata, generation: number },
  });

  /** Starts a process with these owners of hosts from an earlier process. */
  const start = async (owners: HostOwners) => {
    stop.abort = new AbortController();
    const { signal } = stop.abort;
    proxy = new RecordedProxy();
    const base = { client, clock, random: () => 0.5 };
    const reader = new PlannedReader(client, clock);
    const informers = new Informers({ ...base, client: reader, resources: WATCHED_RESOURCES, log: silentLog });
    const secrets = new SecretWatch({
      ...base,
      logger: silentLogger,
      onChange: () => {
        view.takeSecret();
        programmer.notify();
      },
    });
    const { cache } = informers;
    const secretOf = (namespace: string, name: string) => secrets.get(namespace, name);
    const view = new ClusterView({ cache, secretOf, owners, mayServe: endpointFilter([]) });
    const recorder: EventRecorder = {
      event: (about, type, reason) => events.push(`${type} ${reason} ${about.metadata.name ?? ''}`),
    };
    const address = { address: '127.0.0.1', httpPort: 8080, httpsPort: 8443 };
    const reports = new Reports({ client, cache, events: recorder, address, clock, logger: silentLogger });
    const metrics = createMetrics();
    programmer = new Programmer({
      ...base,
      view,
      proxy,
      followSecrets: (keys) => secrets.follow(keys),
      areSecretsRead: () => secrets.isSynced(),
      report: (report) => reports.put(report),
      storeOwners: (owners) => {
        stored.push(owners);
        return Promise.resolve();
      },
      logger: silentLogger,
      metrics: { seconds: metrics.histogram('s', 's'), failures: metrics.counter('f', 'f') },
    });
    informers.subscribe((event) => {
      if (view.take(event)) programmer.notify();
    });
    void informers.run(signal);
    await clock.advance(0);
    void reports.run(signal);
    void programmer.run(signal);
    await clock.advance(1000);
  };
  beforeEach(async () => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    events = [];
    stored = [];
    await client.put(INGRESS_CLASSES, OURS);
    await client.put(SERVICES, service('a/web', [{ name: 'http', port: 80 }]));
    await client.put(ENDPOINT_SLICES, slice('a/web', ['10.128.4.1']));
    await start(new Map());
  });
  afterEach(() => stop.abort.abort());

  const web = (age = 0) => ingress('a/web', { rules: [rule('a.example', 'Prefix / web:80')] }, age);

  it('begins without an Ingress, and follows endpoints, Services and Ingresses', async () => {
    expect(proxy.states).toHaveLength(1);
    await put(INGRESSES, web());
    expect(proxy.targets('a.example/')).toEqual(['10.128.4.1:8080']);
    await put(ENDPOINT_SLICES, slice('a/web', ['10.128.4.1~', '10.128.4.2']));
    expect(proxy.targets('a.example/')).toEqual(['10.128.4.2:8080']);
    await remove(SERVICES, 'a/web');
    expect(proxy.last.prefix.get('a.example/')).toBe('unavailable');
    await put(SERVICES, service('a/web', [{ name: 'http', port: 80 }]));
    expect(proxy.targets('a.example/')).toEqual(['10.128.4.2:8080']);
    await remove(INGRESSES, 'a/web');
    expect(proxy.last.prefix.size).toBe(0);
  });

  it('hosts stay with the namespaces that have them, also in the next process', async () => {
    const old = (host: string) => ingress('a/old', { rules: [rule(host, 'Prefix / web:80')] }, 1);
    await put(INGRESSES, old('a.example'));
    await put(INGRESSES, ingress('b/live', { rules: [rule('shop.example', 'Prefix / web:80')] }, 9));
    expect(Object.fromEntries(stored.at(-1) ?? [])).toEqual({ 'a.example': 'a', 'shop.example': 'b' });
    await put(INGRESSES, generation(old('shop.example'), 2));
    const kept = { 'shop.example': 'b' };
    expect(Object.fromEntries(stored.at(-1) ?? [])).toEqual(kept);
    await remove(INGRESS_CLASSES, '/gantry');
    expect([proxy.last.prefix.size, Object.fromEntries(stored.at(-1) ?? [])]).toEqual([0, kept]);
    await put(INGRESS_CLASSES, OURS);
    expect(proxy.last.prefix.get('shop.example/')).toBe('unavailable');
    stop.abort.abort();
    await start(stored.at(-1) ?? new Map());
    expect(Object.fromEntries(stored.at(-1) ?? [])).toEqual(kept);
    expect(proxy.last.prefix.get('shop.example/')).toBe('unavailable');
  });

  it('does nothing for Services, endpoints and statuses that concern no route', async () => {
    await put(INGRESSES, web());
    const count = proxy.states.length;
    await put(SERVICES, service('b/other', [{ port: 80 }]));
    await put(ENDPOINT_SLICES, slice('b/other', ['10.128.4.9']));
    expect(client.all(INGRESSES)[0]?.status, 'which was written meanwhile').toBeDefined();
    expect([count, proxy.states.length]).toEqual([2, 2]);
  });

  it('plans once for many changes', async () => {
    await put(INGRESSES, web());
    const count = proxy.states.length;
    for (let index = 0; index < 100; index++) {
      await client.put(INGRESSES, ingress(`a/i${index}`, { rules: [rule(`h${index}.example`, 'Prefix / web:80')] }));
    }
    await clock.advance(1000);
    expect(proxy.last.prefix.size).toBe(101);
    // The first change is immediate, and all others follow after a rest.
    expect(proxy.states.length - count).toBe(2);
  });

  it('writes where an Ingress is reached, and Events about what is refused, once', async () => {
    await put(INGRESSES, ingress('a/bad', { rules: [rule('a.example', 'Prefix / none:80')] }));
    await put(ENDPOINT_SLICES, slice('a/web', ['10.128.4.7']));
    await put(INGRESSES, web(1));
    expect(events).toEqual(['Warning ServiceNotFound bad', 'Warning HostPathTaken web']);
    const ports = [8080, 8443].map((port) => ({ port, protocol: 'TCP' }));
    expect(client.all(INGRESSES).map(({ status }) => status?.loadBalancer?.ingress)).toEqual([
      [{ ip: '127.0.0.1', ports }],
      [{ ip: '127.0.0.1', ports }],
    ]);
  });

  it('writes a status again that meets another write', async () => {
    client.failNext(({ verb }) => verb === 'patch', new RangeError('conflict') as never);
    await put(INGRESSES, web());
    await clock.advance(3000);
    expect(client.all(INGRESSES)[0]?.status?.loadBalancer?.ingress).toHaveLength(1);
  });

  it('follows Secrets that Ingresses name, and no others, and serves what they hold now', async () => {
    const secured = (name: string) => ({
      ...web(),
      spec: { ...web().spec, tls: [{ hosts: ['a.example'], secretName: name }] },
    });
    await put(SECRETS, secret('a/tls', certificate));
    await put(INGRESSES, secured('tls'));
    const [first] = proxy.last.certificates.values();
    expect(first).toMatchObject({ hosts: ['a.example'], pem: expect.stringContaining('BEGIN CERTIFICATE') });
    const next = await certificateFor('a.example');
    await put(SECRETS, secret('a/tls', next));
    const [second] = proxy.last.certificates.values();
    expect(second?.pem).toContain(next.key.split('\n')[1]);
    await put(SECRETS, secret('a/tls', { certificate: next.certificate, key: certificate.key }));
    expect(proxy.last.certificates.size).toBe(0);
    expect(events).toEqual(['Warning InvalidCertificate web']);
    await put(INGRESSES, generation(secured('other'), 2));
    expect(events).toEqual(['Warning InvalidCertificate web', 'Warning SecretNotFound web']);
    const count = proxy.states.length;
    await put(SECRETS, secret('a/tls', next));
    expect(proxy.states, 'it is not followed any more').toHaveLength(count);
  });

  it('reports certificates that HAProxy refuses', async () => {
    await put(SECRETS, secret('a/tls', certificate));
    await put(INGRESSES, { ...web(), spec: { ...web().spec, tls: [{ hosts: ['a.example'], secretName: 'tls' }] } });
    const [name = ''] = proxy.last.certificates.keys();
    proxy.refusedCertificates.set(name, 'ee key too small');
    await put(ENDPOINT_SLICES, slice('a/web', ['10.128.4.7']));
    expect(events).toEqual(['Warning InvalidCertificate web']);
  });

  it('serves 2,000 endpoints of a namespace, shared by its backends, and reports the rest', async () => {
    const addresses = (third: number, count: number) =>
      Array.from({ length: count }, (_, index) => `10.128.${third + Math.floor(index / 250)}.${index % 250}`);
    await put(INGRESSES, ingress('a/web', { rules: [rule('a.example', 'Prefix / web:80', 'Prefix /few few:80')] }));
    await put(SERVICES, service('a/few', [{ name: 'http', port: 80 }]));
    await put(ENDPOINT_SLICES, slice('a/few', addresses(20, 100)));
    await put(ENDPOINT_SLICES, slice('a/web', addresses(4, 2100)));
    expect(proxy.targets('a.example/')).toHaveLength(1900);
    expect(proxy.targets('a.example/few/')).toHaveLength(100);
    expect(events).toContain('Warning TooManyEndpoints web');
  });

  it('tries again after a failure', async () => {
    proxy.failure = new RangeError('no answer');
    await put(INGRESSES, web());
    await clock.advance(1000);
    expect(proxy.targets('a.example/')).toEqual(['10.128.4.1:8080']);
  });

  it('keeps looking while servers have connections that end', async () => {
    proxy.rest = 'later';
    await put(INGRESSES, web());
    const count = proxy.states.length;
    await clock.advance(10_000);
    expect(proxy.states.length).toBeGreaterThan(count + 2);
    proxy.rest = 'none';
    await clock.advance(5000);
    const quiet = proxy.states.length;
    await clock.advance(60_000);
    expect(proxy.states).toHaveLength(quiet);
  });
});
