import type { ConfigMap, KubeObject, Secret } from '@gantry/objects';
import { createMetrics, type Logger, silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LegacyTokenUses } from '../auth/authn/legacy-tokens.ts';
import { DELETE_AS_USUAL, deleteBody } from '../registry/contract/registry.ts';
import { startHarness, type Harness } from '../registry/testing.ts';
import { createLoopbackClient, type LoopbackClient } from '../loopback-client.ts';
import { legacyTokenCounters } from '../meters.ts';
import { legacyTokenTracking, trackingSince } from './legacy-tokens.ts';

const DAY_MS = 86_400_000;
const NAME = 'kube-apiserver-legacy-service-account-token-tracking';

let harness: Harness;
let uses: LegacyTokenUses;
let stop: AbortController;
let running: readonly Promise<unknown>[];
let client: LoopbackClient;
let warnings: string[];

beforeEach(async () => {
  harness = await startHarness();
  const { clock, registry, deps } = harness;
  const kubeSystem = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } };
  await harness.create('namespaces', kubeSystem);
  uses = new LegacyTokenUses(legacyTokenCounters(createMetrics()), clock);
  stop = new AbortController();
  client = createLoopbackClient(registry);
  warnings = [];
  const warn = (_fields: object, text: string) => warnings.push(text);
  const logger = { ...silentLogger, warn } as Logger;
  const given: LoopbackClient = { ...client, update: (...call) => client.update(...call) };
  const members = legacyTokenTracking({ uses, client: given, cache: deps.cache, clock, logger });
  running = members.map(({ run }) => run(stop.signal));
});

afterEach(async () => {
  stop.abort();
  await harness.settle(Promise.all(running));
});

async function stored<T extends KubeObject>(resource: string, name: string, namespace = 'n'): Promise<T> {
  const target = harness.target(resource, name, { namespace });
  const response = await harness.settle(harness.registry.get(harness.context(), target, ''));
  return response.object as T;
}

describe('the label of the last use', () => {
  const use = async (name: string) => uses.note({ kind: 'manual', secret: await stored<Secret>('secrets', name) });
  const label = async (name: string) =>
    (await stored('secrets', name)).metadata.labels?.['kubernetes.io/legacy-token-last-used'];
  const make = (name: string) => harness.create('secrets', { apiVersion: 'v1', kind: 'Secret', metadata: { name } });

  it('is written once a day, however often the token is used', async () => {
    await make('s');
    await use('s');
    await harness.clock.advance(1000);
    expect(await label('s')).toBe('2026-01-01');
    const { resourceVersion } = (await stored('secrets', 's')).metadata;
    for (let i = 0; i < 3; i++) await use('s');
    await harness.clock.advance(1000);
    expect((await stored('secrets', 's')).metadata.resourceVersion).toBe(resourceVersion);
    await harness.clock.advance(DAY_MS);
    await use('s');
    await harness.clock.advance(1000);
    expect(await label('s')).toBe('2026-01-02');
    expect(warnings).toEqual([]);
  });

  it('is not written to a Secret that was made again since', async () => {
    const { metadata } = await make('s');
    uses.note({ kind: 'manual', secret: { apiVersion: 'v1', kind: 'Secret', metadata: { ...metadata, uid: 'old' } } });
    await harness.clock.advance(1000);
    expect([await label('s'), uses.unwritten()]).toEqual([undefined, []]);
  });

  it('that cannot be written is logged and tried again, and keeps no other waiting', async () => {
    for (const name of ['refused', 's']) await make(name);
    const { update } = client;
    let isRefused = true;
    client.update = (ref, object, ...rest) =>
      object.metadata.name === 'refused' && isRefused ? Promise.reject(new Error('no')) : update(ref, object, ...rest);
    for (const name of ['refused', 's']) await use(name);
    expect([await label('refused'), await label('s')]).toEqual([undefined, '2026-01-01']);
    expect(new Set(warnings)).toEqual(new Set(['cannot write the last use of a token, retrying']));
    isRefused = false;
    await harness.clock.advance(300_000);
    expect(await label('refused')).toBe('2026-01-01');
  });
});

describe('the ConfigMap of the tracking', () => {
  const configMap = () => stored<ConfigMap>('configmaps', NAME, 'kube-system');

  it('says since when, stays, and comes back', async () => {
    await harness.clock.advance(1000);
    expect((await configMap()).data).toEqual({ since: '2026-01-01' });
    await harness.clock.advance(DAY_MS);
    expect((await configMap()).data).toEqual({ since: '2026-01-01' });
    const target = harness.target('configmaps', NAME, { namespace: 'kube-system' });
    await harness.settle(harness.registry.delete(harness.context(), target, deleteBody(DELETE_AS_USUAL)));
    await harness.clock.advance(60_000);
    expect((await configMap()).data).toEqual({ since: '2026-01-02' });
  });

  it.each([
    ['a day', { since: '2020-02-29' }, undefined],
    ['no day', { since: '2021-02-29', more: 'x' }, { since: '2026-01-01', more: 'x' }],
    ['nothing', {}, { since: '2026-01-01' }],
  ])('with %s is put right where that is needed', (_what, data, want) => {
    const { corrected, object } = trackingSince(Date.parse('2026-01-01T10:00:00Z'));
    const right: ConfigMap | undefined = corrected?.({ ...object, data } as KubeObject);
    expect(right?.data).toEqual(want);
  });
});
