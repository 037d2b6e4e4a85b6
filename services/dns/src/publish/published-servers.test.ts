import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ENDPOINTS } from '@gantry/objects';
import { ENDPOINT_SLICES, type ExampleCluster, exampleCluster, slice } from '../testing/example-cluster.ts';
import { addressesOf } from './plan.ts';
import { probeServer } from './probe.ts';
import { PublishedServers } from './published-servers.ts';
import { startUpstream } from '../testing/upstream-server.ts';

type Probe = (address: string, signal: AbortSignal) => Promise<void>;

const KEY = { namespace: 'kube-system', name: 'kube-dns' };

describe('the published servers', () => {
  let stop: AbortController;
  let cluster: ExampleCluster;
  let answering: Set<string>;
  beforeEach(async () => {
    stop = new AbortController();
    cluster = await exampleCluster([slice(KEY.namespace, KEY.name, ['10.128.0.4'], [], KEY.name)], stop.signal);
    answering = new Set(['10.128.0.4']);
  });
  afterEach(() => stop.abort());

  const refuse: Probe = () => Promise.reject(new RangeError('silent'));
  const server = (own: string | undefined, isReady = () => true, fail = refuse) =>
    new PublishedServers({
      client: cluster.client,
      cache: cluster.informers.cache,
      own,
      isReady,
      probe: (address, signal) => (answering.has(address) ? Promise.resolve() : fail(address, signal)),
      clock: cluster.clock,
      logger: silentLogger,
    });
  const published = async () => addressesOf(await cluster.client.get(ENDPOINT_SLICES, KEY, stop.signal));
  const looks = async (count: number) => {
    for (let i = 0; i < count; i++) await cluster.clock.advance(400);
  };

  it('have this one while it runs, and not one that is silent for three looks', async () => {
    void server('10.128.0.5').member().run(stop.signal);
    await looks(1);
    expect(await published()).toEqual(['10.128.0.4', '10.128.0.5']);
    answering.clear();
    await looks(1);
    answering.add('10.128.0.4');
    await looks(1);
    answering.clear();
    await looks(2);
    expect(await published()).toEqual(['10.128.0.4', '10.128.0.5']);
    await looks(2);
    expect(await published()).toEqual(['10.128.0.5']);
  });

  it('do not have one that has died after 1.6 s, though no packet says so', async () => {
    const wait: Probe = (_, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new RangeError('no answer'))));
    void server('10.128.0.5', () => true, wait)
      .member()
      .run(stop.signal);
    await looks(1);
    // The next look has just started.
    await cluster.clock.advance(1);
    answering.clear();
    for (let waited = 0; waited < 1600; waited += 50) await cluster.clock.advance(50);
    expect(await published()).toEqual(['10.128.0.5']);
  });

  it('are listed in the Endpoints too, and again after these were deleted', async () => {
    void server('10.128.0.5').member().run(stop.signal);
    const listed = async () => (await cluster.client.get(ENDPOINTS, KEY, stop.signal)).subsets?.[0]?.addresses;
    await looks(2);
    expect(await listed()).toEqual([{ ip: '10.128.0.4' }, { ip: '10.128.0.5' }]);
    await cluster.client.delete(ENDPOINTS, KEY, {}, stop.signal);
    await looks(2);
    expect(await listed()).toEqual([{ ip: '10.128.0.4' }, { ip: '10.128.0.5' }]);
  });

  it('are not written while nothing changes', async () => {
    void server('10.128.0.5').member().run(stop.signal);
    await looks(2);
    const writes = cluster.client.writes.length;
    await looks(100);
    expect(cluster.client.writes).toHaveLength(writes);
  });

  it('do not have this one before it can answer, nor once it leaves', async () => {
    let ready = false;
    const { run, drain } = server('10.128.0.5', () => ready).member();
    void run(stop.signal);
    await looks(2);
    expect(await published()).toEqual(['10.128.0.4']);
    ready = true;
    await looks(2);
    expect(await published()).toEqual(['10.128.0.4', '10.128.0.5']);
    const left = drain?.(stop.signal);
    await looks(4);
    await left;
    expect(await published()).toEqual(['10.128.0.4']);
  });

  it('are not written outside of the network of pods', async () => {
    void server(undefined).member().run(stop.signal);
    await looks(3);
    expect(cluster.client.writes).toEqual([]);
  });
});

describe('a probe', () => {
  it.each([
    ['succeeds where a server has the zone', 0, 'fulfilled'],
    ['fails where it has not read it yet', 2, 'rejected'],
  ])('%s', async (_, flags, outcome) => {
    await using other = await startUpstream(() => ({ flags }));
    const { address, port } = other.upstream;
    const probing = Promise.allSettled([probeServer(address, () => 0.5, new AbortController().signal, port)]);
    expect((await probing).map(({ status }) => status)).toEqual([outcome]);
    expect(other.asked).toEqual(['udp dns-version.cluster.local']);
  });
});
