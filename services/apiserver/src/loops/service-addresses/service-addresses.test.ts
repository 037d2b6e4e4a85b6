import { findResource } from '@gantry/kinds';
import { type Event, type KubeObject, type Service, StatusError } from '@gantry/objects';
import { must } from '@gantry/base';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { jsonBody, startHarness, type Harness, WRITE } from '../../registry/testing.ts';
import { createLoopbackClient, type LoopbackClient } from '../../loopback-client.ts';
import type { StoredAddress } from './plan-addresses.ts';
import { planRanges, PROTECTION, type StoredRange } from './plan-ranges.ts';
import { serviceAddresses } from './service-addresses.ts';
import { DELETE_AS_USUAL, deleteBody, EVERYTHING } from '../../registry/contract/registry.ts';

describe('the plan of ranges', () => {
  const range = (name: string, cidr: string, metadata: object = {}): StoredRange => ({
    apiVersion: 'networking.k8s.io/v1',
    kind: 'ServiceCIDR',
    metadata: { name, ...metadata },
    spec: { cidrs: [cidr] },
  });
  const now = Date.parse('2026-01-01T00:01:00Z');
  const given: readonly StoredAddress[] = [
    {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { name: '10.1.0.9', labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' } },
      spec: { parentRef: { resource: 'services', namespace: 'n', name: 'a' } },
    },
  ];
  const leaving = { finalizers: [PROTECTION], deletionTimestamp: '2026-01-01T00:00:55Z' };

  it('protects a range, tells that it is ready, and then nothing more', () => {
    const [first] = planRanges([range('r', '10.1.0.0/24')], [], now);
    expect(first).toMatchObject({
      kind: 'update',
      subresource: '',
      object: { metadata: { finalizers: [PROTECTION] } },
    });
    const kept = must(first?.kind === 'update' ? first.object : undefined, 'the range');
    const [second] = planRanges([kept], [], now);
    expect(second).toMatchObject({ subresource: 'status' });
    const told = must(second?.kind === 'update' ? second.object : undefined, 'the range');
    expect(told.status?.conditions).toMatchObject([
      { type: 'Ready', status: 'True', message: 'Kubernetes Service CIDR is ready' },
    ]);
    expect(planRanges([told], [], now)).toEqual([]);
  });

  it('keeps one that is being deleted while an address is of it alone', () => {
    const going = range('r', '10.1.0.0/24', leaving);
    expect(planRanges([going], given, now)[0]).toMatchObject({
      object: { status: { conditions: [{ type: 'Ready', status: 'False', reason: 'Terminating' }] } },
    });
    const wider = range('w', '10.0.0.0/8', { finalizers: [PROTECTION] });
    expect(planRanges([going, wider], given, now)[0]).toEqual({
      kind: 'look-again',
      at: Date.parse('2026-01-01T00:01:05Z'),
    });
    expect(planRanges([going], [], now + 10_000)[0]).toMatchObject({ object: { metadata: { finalizers: [] } } });
  });
});

describe('addresses of Services', () => {
  let h: Harness;
  let stopping: AbortController;
  let running: Promise<unknown>;
  let areEventsRefused: boolean;
  let areRangesRefused: boolean;
  let isLeader: boolean;

  beforeEach(async () => {
    h = await startHarness();
    stopping = new AbortController();
    areEventsRefused = false;
    areRangesRefused = false;
    isLeader = true;
    const loopback = createLoopbackClient(h.registry);
    const client: LoopbackClient = {
      ...loopback,
      create: (ref, object, signal) =>
        areEventsRefused && ref.resource === 'events'
          ? Promise.reject(
              StatusError.forbidden({ group: '', resource: 'events' }, object.metadata.name ?? '', 'exceeded quota'),
            )
          : loopback.create(ref, object, signal),
      update: (ref, object, subresource, signal) =>
        areRangesRefused && subresource === 'status'
          ? Promise.reject(StatusError.unavailable('the store is away'))
          : loopback.update(ref, object, subresource, signal),
    };
    const leads = () => Promise.resolve(isLeader);
    const member = serviceAddresses({
      cache: h.deps.cache,
      client,
      leads,
      serviceCidr: '10.96.0.0/16',
      clock: h.clock,
      logger: silentLogger,
    });
    running = Promise.resolve(member.run(stopping.signal));
  });
  afterEach(async () => {
    stopping.abort();
    await h.settle(running);
  });

  const cluster = (resource: string, name: string) => {
    const ref = { group: 'networking.k8s.io', version: 'v1', resource };
    return { definition: must(findResource(ref), resource), namespace: '', name, subresource: '' };
  };
  const found = async (resource: string, name: string): Promise<KubeObject | undefined> => {
    await h.clock.advance(100);
    return h.settle(
      h.registry.get(h.context(), cluster(resource, name), '').then(
        ({ object }) => object,
        () => undefined,
      ),
    );
  };
  const create = async (resource: string, object: object): Promise<void> => {
    await h.settle(h.registry.create(h.context(), cluster(resource, ''), jsonBody(object), WRITE));
  };
  const made = (name: string, spec: object = {}) =>
    h.create('services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name },
      spec: { ports: [{ port: 80 }], ...spec },
    });

  const eventsIn = async (namespace: string): Promise<readonly (Event & KubeObject)[]> => {
    const definition = must(findResource({ group: '', version: 'v1', resource: 'events' }), 'events');
    const { items } = await h.settle(h.registry.list(h.context(), definition, { ...EVERYTHING, namespace }));
    return items.map(({ object }) => object as Event & KubeObject);
  };

  it('are kept by the apiserver that leads, which is asked again every five seconds', async () => {
    isLeader = false;
    const range = { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' } };
    await create('servicecidrs', { ...range, spec: { cidrs: ['10.1.0.0/24'] } });
    await h.clock.advance(4000);
    expect(await found('servicecidrs', 'more')).not.toHaveProperty('metadata.finalizers');
    isLeader = true;
    await h.clock.advance(5000);
    expect(await found('servicecidrs', 'more')).toHaveProperty('metadata.finalizers');
  });

  it('report once that a range cannot be said to be ready, until it can', async () => {
    areRangesRefused = true;
    const range = { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' } };
    await create('servicecidrs', { ...range, spec: { cidrs: ['10.1.0.0/24'] } });
    await h.clock.advance(5000);
    expect(await found('servicecidrs', 'more')).not.toHaveProperty('status.conditions');
    const reported = (await eventsIn('default')).map(({ reason, message, involvedObject: { kind, name } }) => [
      kind,
      name,
      reason,
      message,
    ]);
    const message = 'The ServiceCIDR Status can not be set to Ready=True';
    expect(reported).toEqual([['ServiceCIDR', 'more', 'KubernetesServiceCIDRError', message]]);
    areRangesRefused = false;
    await h.clock.advance(60_000);
    expect(await found('servicecidrs', 'more')).toMatchObject({ status: { conditions: [{ status: 'True' }] } });
  });

  it('are objects, which go with the Service', async () => {
    const { spec } = (await made('a')) as Service;
    const address = spec?.clusterIP ?? '';
    expect(await found('ipaddresses', address)).toMatchObject({
      spec: { parentRef: { resource: 'services', namespace: 'n', name: 'a' } },
    });
    await h.settle(h.registry.delete(h.context(), h.target('services', 'a'), deleteBody(DELETE_AS_USUAL)));
    expect(await found('ipaddresses', address)).toBeUndefined();
  });

  it('are neither those of others nor outside of all ranges', async () => {
    const parentRef = { resource: 'gateways', group: 'example.org', name: 'g' };
    const metadata = { name: '10.96.0.77' };
    await create('ipaddresses', {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata,
      spec: { parentRef },
    });
    const refused = (why: string) => `failed to allocate IP ${why}`;
    await expect(made('a', { clusterIP: '10.96.0.77' })).rejects.toThrow(
      refused('10.96.0.77: provided IP is already allocated'),
    );
    await expect(made('a', { clusterIP: '10.1.0.9' })).rejects.toThrow(
      refused('10.1.0.9: the provided network does not match the current range'),
    );
    const range = { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', metadata: { name: 'more' } };
    await create('servicecidrs', { ...range, spec: { cidrs: ['10.1.0.0/24'] } });
    expect(await found('servicecidrs', 'more')).toMatchObject({
      metadata: { finalizers: [PROTECTION] },
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    expect(((await made('a', { clusterIP: '10.1.0.9' })) as Service).spec?.clusterIP).toBe('10.1.0.9');
  });

  it.each([
    ['with an Event of the Service', false],
    ['also where its Event is refused', true],
  ])('are put right where others wrote them, %s', async (_, isRefused) => {
    areEventsRefused = isRefused;
    const { spec } = (await made('a')) as Service;
    const address = spec?.clusterIP ?? '';
    const stored = must(await found('ipaddresses', address), 'the address');
    const removed = h.registry.delete(h.context(), cluster('ipaddresses', address), deleteBody(DELETE_AS_USUAL));
    const parentRef = { resource: 'gateways', group: 'example.org', name: 'g' };
    const taken = { ...stored, metadata: { name: address }, spec: { parentRef } };
    await Promise.all([h.settle(removed), create('ipaddresses', taken)]);
    expect(await found('ipaddresses', address)).toMatchObject({
      metadata: { labels: { 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' } },
      spec: { parentRef: { resource: 'services', namespace: 'n', name: 'a' } },
    });
    const events = await eventsIn('n');
    const message = `the ClusterIP [IPv4]: ${address} for Service n/a has a wrong reference; repairing`;
    expect(events.map((event) => event.message)).toEqual(isRefused ? [] : [message]);
  });
});
