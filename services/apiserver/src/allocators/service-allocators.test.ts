import type { KubeObject, Service } from '@gantry/objects';
import { must } from '@gantry/base';
import { beforeEach, describe, expect, it } from 'vitest';
import { EVERYTHING, type Registry, createRegistry } from '../registry/index.ts';
import { startHarness, definitionOf, type Harness, jsonBody, patchBody, WRITE } from '../registry/testing.ts';
import { ownerOf } from './claims.ts';
import type { ObjectStore } from '../storage/object-store.ts';
import { createAllocators } from './index.ts';

const service = (name: string, spec: object = {}) => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name },
  spec: { ports: [{ port: 80 }], ...spec },
});
const never = new AbortController().signal;

describe('the allocators', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  const allocators = (serviceCidr = '10.96.0.0/16') => createAllocators({ ...h.deps, serviceCidr });
  const begin = (object: KubeObject, serviceCidr?: string) =>
    h.settle(
      allocators(serviceCidr).claim(
        { definition: definitionOf('services'), object, old: undefined, dryRun: false },
        never,
      ),
    );
  /** Makes the claims of a Service and stores the Service. */
  const store = async (object: KubeObject, serviceCidr?: string) => {
    await begin(object, serviceCidr);
    const key = `/registry/services/n/${object.metadata.name ?? ''}`;
    const value = new TextEncoder().encode(JSON.stringify(object));
    await h.settle(h.store.write({ key, expected: 'absent', value, writer: { name: 'test' } }, never));
  };
  const draft = (uid: string, spec: object = {}): Service & KubeObject => ({
    ...service(uid, spec),
    metadata: { name: uid, namespace: 'n', uid },
  });
  const claims = async () => {
    const page = await h.settle(h.store.list('/gantry/allocations/', {}, never));
    return page.objects.map((one) => one.key.slice('/gantry/allocations/'.length)).sort();
  };

  const removeClaim = async (name: string) => {
    const key = `/gantry/allocations/${name}`;
    const claim = must(await h.settle(h.store.get(key, never)), 'the claim');
    const gone = { key, expected: claim.resourceVersion, value: null, writer: { name: 'test' } };
    await h.settle(h.store.write(gone, never));
  };
  const claimant = async (name: string) => {
    const claim = must(await h.settle(h.store.get(`/gantry/allocations/${name}`, never)), name);
    return ownerOf(claim).uid;
  };
  /** The store with some methods replaced. */
  const passedOn = (replaced: Partial<ObjectStore>): ObjectStore => ({
    get: (...args) => h.store.get(...args),
    list: (...args) => h.store.list(...args),
    currentRevision: (...args) => h.store.currentRevision(...args),
    watch: (...args) => h.store.watch(...args),
    requestProgress: () => h.store.requestProgress(),
    write: (...args) => h.store.write(...args),
    ...replaced,
  });
  /** An apiserver that is interrupted once, just before it commits a Service. */
  const interrupted = (meanwhile: () => Promise<void>): Registry => {
    let times = 0;
    const store = passedOn({
      write: async (write, signal) => {
        if (write.key.startsWith('/registry/services/') && write.writer.name !== 'test' && ++times === 1) {
          await meanwhile();
        }
        return h.store.write(write, signal);
      },
    });
    return createRegistry({ ...h.deps, store });
  };

  it('finds the last free address of a small range, and says when it is full', async () => {
    const addresses = new Set<string>();
    for (let i = 0; i < 13; i++) {
      const object = draft(`s${i}`);
      await store(object, '10.9.0.0/28');
      addresses.add(must(object.spec?.clusterIP, 'an address'));
    }
    expect(addresses.size).toBe(13);
    expect(addresses.has('10.9.0.1')).toBe(false);
    await expect(begin(draft('one too many'), '10.9.0.0/28')).rejects.toThrow('range is full');
  });

  it('gives back everything when one port cannot be had', async () => {
    await store(draft('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] }));
    const before = await claims();
    const object = draft('b', {
      type: 'NodePort',
      ports: [
        { name: 'x', port: 80 },
        { name: 'y', port: 81, nodePort: 30_001 },
      ],
    });
    await expect(begin(object)).rejects.toThrow(
      'spec.ports[1].nodePort: Invalid value: 30001: provided port is already allocated',
    );
    await expect(begin(draft('c', { type: 'NodePort', ports: [{ port: 80, nodePort: 80 }] }))).rejects.toThrow(
      'provided port is not in the valid range. The range of valid ports is 30000-32767',
    );
    expect(await claims()).toEqual(before);
  });

  it('gives one number under two protocols one node port in a new Service, and one each in an update', async () => {
    const ports = () => [
      { name: 'tcp', port: 53 },
      { name: 'udp', port: 53, protocol: 'UDP' },
    ];
    const made = draft('a', { type: 'NodePort', ports: ports() });
    await store(made);
    const nodePortsOf = ({ spec }: Service) => (spec?.ports ?? []).map(({ nodePort = 0 }) => nodePort);
    expect(new Set(nodePortsOf(made)).size).toBe(1);
    const old = draft('b', { ports: ports() });
    await store(old);
    const changed: Service & KubeObject = { ...old, spec: { ...old.spec, type: 'NodePort', ports: ports() } };
    const definition = definitionOf('services');
    await h.settle(allocators().claim({ definition, object: changed, old, dryRun: false }, never));
    expect(new Set(nodePortsOf(changed)).size).toBe(2);
    expect(nodePortsOf(changed)).not.toContain(0);
  });

  it('gives no port of the Service itself to another of its ports, or to its health checks', async () => {
    const always = createAllocators({ ...h.deps, random: () => 0, serviceCidr: '10.96.0.0/16' });
    const settled = (object: Service & KubeObject, old?: Service & KubeObject) =>
      h.settle(always.claim({ definition: definitionOf('services'), object, old, dryRun: false }, never));
    const old = draft('a', { type: 'LoadBalancer', ports: [{ port: 80 }] });
    await settled(old);
    const { nodePort } = must(old.spec?.ports?.[0], 'the first port');
    const ports = [
      { name: 'a', port: 80, nodePort },
      { name: 'b', port: 81 },
    ];
    const changed = draft('a', { ...old.spec, externalTrafficPolicy: 'Local', ports });
    await settled(changed, old);
    const { ports: given = [], healthCheckNodePort } = changed.spec ?? {};
    expect(new Set([...given.map((port) => port.nodePort), healthCheckNodePort]).size).toBe(3);
  });

  it('refuses a port for health checks that is one of the Service itself', async () => {
    const ports = [{ port: 80, nodePort: 30_001 }];
    const local = { type: 'LoadBalancer', externalTrafficPolicy: 'Local', ports } as const;
    const asked = store(draft('a', { ...local, healthCheckNodePort: 30_001 }));
    await expect(asked).rejects.toThrow(
      'spec.healthCheckNodePort: Invalid value: 30001: provided port is already allocated',
    );
  });

  it('gives the first of two node ports of a number to a third port of it', async () => {
    const ports = [
      { name: 'a', port: 53, nodePort: 30_001 },
      { name: 'b', port: 53, protocol: 'UDP', nodePort: 30_002 },
      { name: 'c', port: 53, protocol: 'SCTP' },
    ];
    const made = draft('a', { type: 'NodePort', ports });
    await store(made);
    expect(made.spec?.ports?.[2]?.nodePort).toBe(30_001);
  });

  it('repairs: claims used addresses, and gives back those that no Service needs', async () => {
    const stored = (await h.create('services', service('a'))) as Service;
    const kept = `addresses/${stored.spec?.clusterIP}`;
    await removeClaim(kept);
    await begin(draft('lost', { clusterIP: '10.96.7.7' }));
    expect(await h.settle(allocators().repair([stored], never))).toEqual([]);
    expect(await claims()).toEqual([kept]);
  });

  it('repairs: gives back what a stored Service holds no more', async () => {
    const stored = (await h.create('services', service('a'))) as Service;
    const kept = `addresses/${stored.spec?.clusterIP}`;
    const changed = structuredClone(stored) as Service & KubeObject;
    changed.spec = { ...changed.spec, type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] };
    await h.settle(
      allocators().claim({ definition: definitionOf('services'), object: changed, old: stored, dryRun: false }, never),
    );
    expect(await claims()).toEqual([kept, 'node-ports/30001']);
    await h.settle(allocators().repair([stored], never));
    expect(await claims()).toEqual([kept]);
  });

  it('reports at start what two stored Services hold, whichever has the claim', async () => {
    const first = (await h.create('services', service('first', { clusterIP: '10.96.7.7' }))) as Service;
    await removeClaim('addresses/10.96.7.7');
    const second = (await h.create('services', service('second', { clusterIP: '10.96.7.7' }))) as Service;
    expect(await h.settle(allocators().repair([first, second], never))).toEqual([
      { service: first, held: { kind: 'address', address: '10.96.7.7' } },
    ]);
    const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] };
    const third = (await h.create('services', service('third', spec))) as Service;
    await removeClaim('node-ports/30001');
    const fourth = (await h.create('services', service('fourth', spec))) as Service;
    expect(await h.settle(allocators().repair([third, fourth], never))).toEqual([
      { service: third, held: { kind: 'port', port: 30_001 } },
    ]);
  });

  it('gives a claim away whose owner never came to be, once its write has had the time to end', async () => {
    await begin(draft('lost', { clusterIP: '10.96.7.7' }));
    const before = h.clock.monotonicMs();
    const next = (await h.create('services', service('next', { clusterIP: '10.96.7.7' }))) as Service;
    expect(next.spec?.clusterIP).toBe('10.96.7.7');
    expect(h.clock.monotonicMs() - before).toBeGreaterThanOrEqual(1000);
    expect(await claimant('addresses/10.96.7.7')).toBe(next.metadata.uid);
  });

  it('finds an address though all are claimed by Services that never came to be', async () => {
    for (let i = 0; i < 14; i++) await begin(draft(`lost${i}`), '10.9.0.0/28').catch(() => undefined);
    const object = draft('next');
    await begin(object, '10.9.0.0/28');
    expect(object.spec?.clusterIP).toMatch(/^10\.9\.0\./);
  });

  it.each([
    ['address', { clusterIP: '10.96.7.7' }],
    ['port', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] }],
  ])('stores no Service whose claim on its %s was taken over before its commit', async (_what, spec) => {
    let taken: Service | undefined;
    // The slow apiserver stops between its claim and its commit, for longer than LEFT_ALONE_MS.
    const slow = interrupted(async () => {
      taken = await h.create('services', service('fast', spec));
    });
    const target = h.target('services', '');
    const losing = slow.create(h.context(), target, jsonBody(service('slow', spec)), WRITE);
    await expect(h.settle(losing)).rejects.toThrow('provided');
    expect(taken).toBeDefined();
    const stored = await h.settle(h.registry.list(h.context(), definitionOf('services'), EVERYTHING));
    expect(stored.items.map(({ object }) => object.metadata.name)).toEqual(['fast']);
  });

  it('claims another address when the one that it was given is taken over before its commit', async () => {
    let address = '';
    const slow = interrupted(async () => {
      address = must((await claims())[0], 'the claim of the slow one').slice('addresses/'.length);
      await h.create('services', service('fast', { clusterIP: address }));
    });
    const made = await h.settle(slow.create(h.context(), h.target('services', ''), jsonBody(service('slow')), WRITE));
    const { spec } = made.object as Service;
    expect(spec?.clusterIP).not.toBe(address);
    expect(await claims()).toEqual([`addresses/${address}`, `addresses/${spec?.clusterIP}`].sort());
  });

  it('takes nothing over from a Service that was stored meanwhile', async () => {
    const winner = draft('winner', { clusterIP: '10.96.7.7' });
    await begin(winner);
    const stored = h.store;
    // The Service is stored after the check for it, just before its claim is taken over.
    const racing: ObjectStore = passedOn({
      write: async (write, signal) => {
        if (write.expected !== 'absent' && write.key.endsWith('10.96.7.7')) {
          const value = new TextEncoder().encode(JSON.stringify(winner));
          const key = '/registry/services/n/winner';
          await stored.write({ key, expected: 'absent', value, writer: { name: 'test' } }, signal);
        }
        return stored.write(write, signal);
      },
    });
    const target = h.target('services', '');
    const body = jsonBody(service('late', { clusterIP: '10.96.7.7' }));
    const late = createRegistry({ ...h.deps, store: racing }).create(h.context(), target, body, WRITE);
    await expect(h.settle(late)).rejects.toThrow('provided IP is already allocated');
    expect(await claimant('addresses/10.96.7.7')).toBe('winner');
  });

  it('gives one address and one port to one Service, however many ask at once at several apiservers', async () => {
    const other = await startHarness({ etcd: h.store.etcd, seed: 8 });
    const spec = { clusterIP: '10.96.7.7', type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] };
    const creations = Array.from({ length: 12 }, (_, i) => {
      const { registry, context, target } = i % 2 === 0 ? h : other;
      return registry.create(context(), target('services', ''), jsonBody(service(`s${i}`, spec)), WRITE);
    });
    const ended = h.settle(Promise.allSettled(creations));
    await other.settle(ended);
    const results = await ended;
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const { items } = await h.settle(h.registry.list(h.context(), definitionOf('services'), EVERYTHING));
    expect(items).toHaveLength(1);
    const uid = must(items[0], 'the one').object.metadata.uid;
    expect(await claimant('addresses/10.96.7.7')).toBe(uid);
    expect(await claimant('node-ports/30001')).toBe(uid);
  });

  it.each([
    ['port', {}, { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] }, 'node-ports/30001'],
    [
      'address',
      { type: 'ExternalName', externalName: 'example.org' },
      { type: 'ClusterIP', externalName: null, clusterIP: '10.96.7.7' },
      'addresses/10.96.7.7',
    ],
  ])('keeps the %s that the winner of two identical patches holds', async (_what, before, spec, claim) => {
    await h.create('services', service('a', before));
    const patch = patchBody('application/merge-patch+json', Buffer.from(JSON.stringify({ spec })));
    const patchWith = (registry: Registry) => registry.patch(h.context(), h.target('services', 'a'), patch, WRITE);
    let races = 0;
    // The other patch is committed between the claim and the commit of this one.
    const racing = passedOn({
      write: async (write, signal) => {
        if (write.key.startsWith('/registry/services/') && ++races === 1) await patchWith(h.registry);
        return h.store.write(write, signal);
      },
    });
    await h.settle(patchWith(createRegistry({ ...h.deps, store: racing })));
    expect(races).toBe(1);
    expect(await claims()).toContain(claim);
  });
});
