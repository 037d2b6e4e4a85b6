import type { KubeObject, Service } from '@gantry/objects';
import { must } from '@gantry/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Registry, createRegistry } from '../registry/index.ts';
import { createHarness, definitionOf, type Harness, patchBody, WRITE } from '../registry/testing.ts';
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
    h = await createHarness();
  });
  afterEach(async () => {
    await h.stop();
  });

  const allocators = (serviceCidr = '10.96.0.0/16') => createAllocators({ ...h.deps, serviceCidr });
  const begin = (object: KubeObject, serviceCidr?: string) =>
    h.settle(
      allocators(serviceCidr).claim(
        { definition: definitionOf('services'), object, old: undefined, dryRun: false },
        never,
      ),
    );
  const draft = (uid: string, spec: object = {}): Service & KubeObject => ({
    ...service(uid, spec),
    metadata: { name: uid, namespace: 'n', uid },
  });
  const claims = async () => {
    const page = await h.settle(h.store.list('/gantry/allocations/', {}, never));
    return page.objects.map((one) => one.key.slice('/gantry/allocations/'.length)).sort();
  };

  it('finds the last free address of a small range, and says when it is full', async () => {
    const addresses = new Set<string>();
    for (let i = 0; i < 13; i++) {
      const object = draft(`s${i}`);
      await begin(object, '10.9.0.0/28');
      addresses.add(must(object.spec?.clusterIP, 'an address'));
    }
    expect(addresses.size).toBe(13);
    expect(addresses.has('10.9.0.1')).toBe(false);
    await expect(begin(draft('one too many'), '10.9.0.0/28')).rejects.toThrow('range is full');
  });

  it('gives back everything when one port cannot be had', async () => {
    await begin(draft('a', { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] }));
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

  it('repairs: claims used addresses, releases unused ones, and keeps recent claims', async () => {
    const stored = (await h.create('services', service('a'))) as Service;
    const kept = `addresses/${stored.spec?.clusterIP}`;
    const key = `/gantry/allocations/${kept}`;
    const claim = must(await h.settle(h.store.get(key, never)), 'the claim');
    const gone = { key, expected: claim.resourceVersion, value: null, mustExist: [], writer: { name: 'test' } };
    await h.settle(h.store.write(gone, never));
    await begin(draft('lost', { clusterIP: '10.96.7.7' }));
    await h.clock.advance(61_000);
    await begin(draft('young', { clusterIP: '10.96.8.8' }));
    await h.settle(allocators().repair([stored], never));
    expect(await claims()).toEqual([kept, 'addresses/10.96.8.8'].sort());
  });

  it('gives a claim away whose owner never came to be', async () => {
    await begin(draft('lost', { clusterIP: '10.96.7.7' }));
    await h.clock.advance(61_000);
    const next = (await h.create('services', service('next', { clusterIP: '10.96.7.7' }))) as Service;
    expect(next.spec?.clusterIP).toBe('10.96.7.7');
  });

  it('keeps what the winner of two identical patches holds', async () => {
    await h.create('services', service('a'));
    const spec = { type: 'NodePort', ports: [{ port: 80, nodePort: 30_001 }] };
    const patch = patchBody('application/merge-patch+json', Buffer.from(JSON.stringify({ spec })));
    const patchWith = (registry: Registry) => registry.patch(h.context(), h.target('services', 'a'), patch, WRITE);
    const { store } = h;
    let races = 0;
    // The other patch is committed between the claim and the commit of ours.
    const racing: ObjectStore = {
      get: (...args) => store.get(...args),
      list: (...args) => store.list(...args),
      currentRevision: (...args) => store.currentRevision(...args),
      watch: (...args) => store.watch(...args),
      requestProgress: () => store.requestProgress(),
      write: async (write, signal) => {
        if (write.key.startsWith('/registry/services/') && ++races === 1) await patchWith(h.registry);
        return store.write(write, signal);
      },
    };
    await h.settle(patchWith(createRegistry({ ...h.deps, store: racing })));
    expect(races).toBe(1);
    expect(await claims()).toContain('node-ports/30001');
  });
});
