import type { EndpointSlice, Endpoints } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startHarness, type Harness } from '../registry/testing.ts';
import { createLoopbackClient } from '../loopback-client.ts';
import { kubernetesEndpoints } from './kubernetes-endpoints.ts';
import { createPeerRegistry, type PeerRegistry } from '../peer-registry.ts';

describe('the endpoints of default/kubernetes', () => {
  let harness: Harness;
  const members: { readonly stop: AbortController; readonly done: Promise<void> }[] = [];

  beforeEach(async () => {
    harness = await startHarness();
  });

  afterEach(async () => {
    for (const { stop } of members) stop.abort();
    await harness.clock.advance(1000);
    await Promise.all(members.splice(0).map(({ done }) => done));
  });

  /** The peer registry of another apiserver with the same etcd. */
  const peersOf = (ip: string): PeerRegistry => {
    const { clock, store } = harness;
    const onError = (error: unknown) => {
      throw error;
    };
    return createPeerRegistry({ etcd: store.etcd, clock, process: ip, address: { ip, port: 6443 }, onError });
  };

  const start = (ip: string): AbortController => {
    const { registry, clock, deps } = harness;
    const client = createLoopbackClient(registry);
    const peers = peersOf(ip);
    const whenReady = (signal: AbortSignal) => deps.cache.whenReady(signal);
    const member = kubernetesEndpoints({ client, peers, whenReady, clock, logger: silentLogger });
    const stop = new AbortController();
    members.push({ stop, done: member.run(stop.signal) });
    return stop;
  };

  const read = async <T>(resource: string): Promise<T> => {
    const target = harness.target(resource, 'kubernetes', { namespace: 'default' });
    return (await harness.settle(harness.registry.get(harness.context(), target, ''))).object as T;
  };

  it('are the addresses of the apiservers that live', async () => {
    start('10.0.0.2');
    const other = start('10.0.0.3');
    await harness.clock.advance(12_000);
    const both = await read<Endpoints>('endpoints');
    expect(both.subsets).toEqual([
      { addresses: [{ ip: '10.0.0.2' }, { ip: '10.0.0.3' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ]);
    const slice = await read<EndpointSlice>('endpointslices');
    expect(slice.endpoints?.map(({ addresses }) => addresses)).toEqual([['10.0.0.2'], ['10.0.0.3']]);
    other.abort();
    await harness.clock.advance(12_000);
    expect((await read<Endpoints>('endpoints')).subsets?.[0]?.addresses).toEqual([{ ip: '10.0.0.2' }]);
  });

  it('have a first, who does what one of the apiservers does', async () => {
    const first = start('10.0.0.2');
    start('10.0.0.3');
    await harness.clock.advance(1000);
    const leads = (ip: string) => harness.settle(peersOf(ip).isFirst(new AbortController().signal));
    expect([await leads('10.0.0.2'), await leads('10.0.0.3'), await leads('10.0.0.4')]).toEqual([true, false, false]);
    first.abort();
    await harness.clock.advance(1000);
    expect(await leads('10.0.0.3')).toBe(true);
  });

  it('are written once and left alone while nothing changes', async () => {
    start('10.0.0.2');
    await harness.clock.advance(12_000);
    const { metadata } = await read<Endpoints & { metadata: { resourceVersion: string } }>('endpoints');
    await harness.clock.advance(60_000);
    expect((await read<Endpoints>('endpoints')).metadata?.resourceVersion).toBe(metadata.resourceVersion);
  });
});
