import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import type { ObjectReader } from '@gantry/client';
import { CLUSTER_TRUST_BUNDLES, CONFIG_MAPS, type ConfigMap, StatusError, type Volume } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { apiConfigSource } from './api-config-source.ts';
import { ConfigWatch } from './config-watch.ts';

const { signal } = new AbortController();

describe('the configuration in the volumes of pods', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let watch: ConfigWatch;
  let heard: string[];
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    heard = [];
    watch = new ConfigWatch({
      client,
      source: apiConfigSource(client),
      clock,
      random: () => 0.5,
      logger: silentLogger,
    });
    watch.subscribe((uid) => heard.push(uid));
  });
  afterEach(() => {
    for (const uid of ['a', 'b']) watch.follow(uid, undefined);
  });

  const write = async (name: string, value: string) => {
    const map: ConfigMap = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name },
      data: { value },
    };
    const { name: known } = client.all(CONFIG_MAPS).find(({ metadata }) => metadata.name === name)?.metadata ?? {};
    if (known === undefined) await client.put(CONFIG_MAPS, map);
    else await client.patch(CONFIG_MAPS, { namespace: 'default', name }, { merge: { data: { value } } }, signal);
    await clock.advance(100);
  };
  const showing = (...names: string[]) =>
    pod({ volumes: names.map((name): Volume => ({ name, configMap: { name } })) });
  const follow = async (uid: string, ...names: string[]) => {
    watch.follow(uid, showing(...names));
    await clock.advance(100);
  };
  const read = (name: string) => watch.configMap('default', name, signal);

  it('is reported to each pod that shows it when it changes, and only then', async () => {
    await write('one', '1');
    await read('one');
    await follow('a', 'one');
    await follow('b', 'one', 'two');
    expect(heard).toEqual([]);
    await write('one', '2');
    expect(heard.toSorted()).toEqual(['a', 'b']);
    expect(watch.changesOf('a')).toBe(1);
    await write('other', '1');
    expect(heard).toHaveLength(2);
  });

  it('is reported when it is created and removed', async () => {
    await follow('a', 'late');
    await write('late', '1');
    expect(heard).toEqual(['a']);
    await client.delete(CONFIG_MAPS, { namespace: 'default', name: 'late' }, {}, signal);
    await clock.advance(100);
    expect(heard).toEqual(['a', 'a']);
  });

  it('is reported when it has changed between a read and the begin of its watch', async () => {
    await write('one', '1');
    await read('one');
    await write('one', '2');
    await follow('a', 'one');
    expect(heard).toEqual(['a']);
  });

  it('is watched once for all pods, as long as one of them shows it', async () => {
    await write('one', '1');
    await follow('a', 'one', 'two');
    await follow('b', 'one');
    expect(watch.size).toBe(2);
    await follow('a', 'two');
    watch.follow('b', undefined);
    expect(watch.size).toBe(1);
    await write('one', '2');
    expect(heard).toEqual([]);
    watch.follow('a', undefined);
    expect(watch.size).toBe(0);
  });

  it('is watched for the first hundred objects of a pod', () => {
    watch.follow('a', showing(...Array.from({ length: 1000 }, (_, index) => `c${index}`)));
    expect(watch.size).toBe(100);
    watch.follow('a', undefined);
    expect(watch.size).toBe(0);
  });

  it('is that of trust bundles too: of one, and of all of a signer', async () => {
    const put = async (name: string, signerName: string) => {
      const spec = { trustBundle: 'x', signerName };
      await client.put(CLUSTER_TRUST_BUNDLES, {
        apiVersion: 'certificates.k8s.io/v1beta1',
        kind: 'ClusterTrustBundle',
        metadata: { name },
        spec,
      });
      await clock.advance(100);
    };
    const change = async (name: string, trustBundle: string) => {
      await client.patch(CLUSTER_TRUST_BUNDLES, { namespace: '', name }, { merge: { spec: { trustBundle } } }, signal);
      await clock.advance(100);
    };
    const bundleOf = (projection: object) =>
      pod({ volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: { path: 'p', ...projection } }] } }] });
    await put('s:a:1', 's/a');
    await watch.trustBundles({ name: 's:a:1' }, signal);
    expect((await watch.trustBundles({ signerName: 's/a' }, signal)).map(({ metadata }) => metadata.name)).toEqual([
      's:a:1',
    ]);
    watch.follow('a', bundleOf({ name: 's:a:1' }));
    watch.follow('b', bundleOf({ signerName: 's/a', labelSelector: {} }));
    await clock.advance(100);
    expect([heard, watch.size]).toEqual([[], 2]);
    await change('s:a:1', 'y');
    expect(heard.splice(0).toSorted()).toEqual(['a', 'b']);
    await put('s:a:2', 's/a');
    await put('s:b:1', 's/b');
    expect(heard.splice(0)).toEqual(['b']);
    await client.delete(CLUSTER_TRUST_BUNDLES, { namespace: '', name: 's:a:2' }, {}, signal);
    await clock.advance(100);
    expect(heard.splice(0)).toEqual(['b']);
    const relist = async () => {
      client.compact();
      client.breakWatches(StatusError.expired('too old resource version'));
      await clock.advance(100);
    };
    await relist();
    expect(heard).toEqual([]);
    client.failNext(({ verb }) => verb === 'watch', StatusError.unavailable('down'), 2);
    client.breakWatches();
    await change('s:a:1', 'z');
    await relist();
    await clock.advance(10_000);
    expect(heard.toSorted()).toEqual(['a', 'b']);
  });

  it('says that the cluster serves no trust bundles', async () => {
    const list = async () =>
      Promise.reject(new StatusError('NotFound', 'the server could not find the requested resource'));
    const source = apiConfigSource({ ...client, list } as unknown as ObjectReader);
    await expect(source.trustBundles({ name: 'x' }, signal)).rejects.toThrow(
      'this cluster does not serve ClusterTrustBundles',
    );
  });

  it('is found in volumes of each kind that shows it', () => {
    const volumes: Volume[] = [
      { name: 'a', configMap: { name: 'c' } },
      { name: 'b', secret: { secretName: 's' } },
      {
        name: 'c',
        projected: {
          sources: [{ configMap: { name: 'c2' } }, { secret: { name: 's2' } }, { configMap: { name: 'c' } }],
        },
      },
      { name: 'd', emptyDir: {} },
    ];
    watch.follow('a', pod({ volumes }));
    expect(watch.size).toBe(4);
  });
});
