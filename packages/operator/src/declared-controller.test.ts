import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import {
  CONFIG_MAPS,
  type ConfigMap,
  controllerReference,
  type Deployment,
  DEPLOYMENTS,
  EVENTS,
  SECRETS,
} from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Desired, declare, type Observed } from './index.ts';
import { startOperator } from './testing/start-operator.ts';

const spec = {
  selector: { matchLabels: { a: 'b' } },
  template: { metadata: { labels: { a: 'b' } }, spec: { containers: [] } },
};
const owner = (name: string): Deployment => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'a' },
  spec,
});
const configMap = (name: string, data: Record<string, string> = {}): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe('a declared controller', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let stop: AbortController;
  let ended: Promise<void>;
  let errors: readonly unknown[];
  let desire: (observed: Observed<Deployment>) => Desired<Deployment>;
  beforeEach(async () => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    stop = new AbortController();
    desire = () => ({ objects: [configMap('one', { k: 'v' })] });
    const controller = declare({
      name: 'c',
      for: DEPLOYMENTS,
      owns: [CONFIG_MAPS, SECRETS],
      desire: (observed) => desire(observed),
    });
    ({ ended, errors } = await startOperator(controller, { client, clock, signal: stop.signal }));
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(20_000);
    await ended;
  });
  const put = async (name: string): Promise<Deployment> => {
    const created = await client.put(DEPLOYMENTS, owner(name));
    await clock.advance(0);
    return created;
  };
  const touch = async (name: string): Promise<void> => {
    const merge = { metadata: { annotations: { touched: String(clock.now()) } } };
    await client.patch(DEPLOYMENTS, { namespace: 'a', name }, { merge }, stop.signal);
    await clock.advance(1000);
  };
  const key = (name: string) => ({ namespace: 'a', name });
  const writes = (): string[] => client.writes.map(({ verb, resource }) => `${verb} ${resource.resource}`);

  it('writes desired objects with their owner, and nothing when nothing changes', async () => {
    const created = await put('d');
    const made = await client.get(CONFIG_MAPS, key('one'), stop.signal);
    expect(made).toMatchObject({ data: { k: 'v' }, metadata: { ownerReferences: [controllerReference(created)] } });
    const count = client.writes.length;
    await touch('d');
    expect(client.writes.length - count, 'the touch alone').toBe(1);
  });

  it('repairs what others change or delete, and leaves their fields', async () => {
    await put('d');
    await client.patch(CONFIG_MAPS, key('one'), { merge: { data: { k: 'changed', other: 'x' } } }, stop.signal);
    await clock.advance(1000);
    expect((await client.get(CONFIG_MAPS, key('one'), stop.signal)).data).toEqual({ k: 'v', other: 'x' });
    await client.delete(CONFIG_MAPS, key('one'), {}, stop.signal);
    await clock.advance(1000);
    expect((await client.get(CONFIG_MAPS, key('one'), stop.signal)).data).toEqual({ k: 'v' });
  });

  it('removes fields and objects that are no longer desired, the objects last', async () => {
    desire = () => ({ objects: [configMap('one', { k: 'v', extra: 'x' }), configMap('two')] });
    await put('d');
    client.writes.length = 0;
    desire = () => ({ objects: [configMap('one', { k: 'v' }), configMap('three')] });
    await touch('d');
    expect(client.all(CONFIG_MAPS).map(({ metadata, data }) => [metadata.name, data])).toEqual([
      ['one', { k: 'v' }],
      ['three', undefined],
    ]);
    expect(writes().slice(1)).toEqual(['patch configmaps', 'patch configmaps', 'delete configmaps']);
  });

  it('leaves what is to be kept as it is', async () => {
    await put('d');
    desire = ({ owned }) => ({ objects: [configMap('two')], keep: owned(CONFIG_MAPS) });
    await client.patch(CONFIG_MAPS, key('one'), { merge: { data: { k: 'changed' } } }, stop.signal);
    await clock.advance(1000);
    desire = ({ owned }) => ({ objects: [], keep: owned(CONFIG_MAPS).filter(({ data }) => data?.['k'] === 'changed') });
    await touch('d');
    expect(client.all(CONFIG_MAPS).map(({ metadata, data }) => [metadata.name, data])).toEqual([
      ['one', { k: 'changed' }],
    ]);
  });

  it.each([
    ['what is not owned', () => ({ objects: [], keep: [configMap('x')] }), 'ConfigMap x: is to be kept'],
    [
      'what is desired too',
      ({ owned }: Observed<Deployment>) => ({ objects: [configMap('one')], keep: owned(CONFIG_MAPS) }),
      'configmaps/a/one is desired, and is to be kept as it is',
    ],
  ])('fails for keeping %s', async (_, failing, message) => {
    await put('d');
    desire = failing;
    await touch('d');
    expect(String(errors[0])).toContain(message);
    expect(client.all(CONFIG_MAPS)).toHaveLength(1);
  });

  it('deletes nothing that it does not control', async () => {
    await client.put(CONFIG_MAPS, { ...configMap('foreign'), metadata: { name: 'foreign', namespace: 'a' } });
    desire = () => ({ objects: [] });
    await put('d');
    expect(client.all(CONFIG_MAPS)).toHaveLength(1);
  });

  it('writes the status once, and an Event after that', async () => {
    desire = ({ owned }) => ({
      objects: [configMap('one')],
      status: { replicas: owned(CONFIG_MAPS).length },
      events: [{ type: 'Normal', reason: 'Counted', message: 'Counted them' }],
    });
    await put('d');
    await clock.advance(1000);
    expect((await client.get(DEPLOYMENTS, key('d'), stop.signal)).status).toEqual({ replicas: 1 });
    expect(client.all(EVENTS)[0]).toMatchObject({
      reason: 'Counted',
      involvedObject: { kind: 'Deployment', name: 'd' },
    });
    const count = client.writes.filter(({ resource }) => resource.resource === 'deployments').length;
    await touch('d');
    expect(client.writes.filter(({ resource }) => resource.resource === 'deployments').length - count).toBe(1);
  });

  it('decides again at the time that it asks for', async () => {
    const times: number[] = [];
    desire = ({ now }) => {
      times.push(now);
      return times.length > 1 ? { objects: [] } : { objects: [], requeueAt: now + 60_000 };
    };
    await put('d');
    await clock.advance(61_000);
    expect(times.map((time) => time - (times[0] ?? 0))).toEqual([0, 60_000]);
  });

  it('does nothing for an object that is being deleted', async () => {
    const metadata = { ...owner('d').metadata, finalizers: ['example.com/hold'] };
    await client.put(DEPLOYMENTS, { ...owner('d'), metadata });
    await clock.advance(0);
    await client.delete(DEPLOYMENTS, key('d'), {}, stop.signal);
    await clock.advance(0);
    await client.delete(CONFIG_MAPS, key('one'), {}, stop.signal);
    await clock.advance(5000);
    expect(client.all(CONFIG_MAPS)).toEqual([]);
  });

  it.each([
    [
      'a kind that it does not own',
      [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } }],
      'Pod p: v1 Pod is not in `owns`',
    ],
    [
      'an object without a name',
      [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: {} }],
      'ConfigMap: metadata.name is required',
    ],
    [
      'an object in another namespace',
      [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'b' } }],
      'ConfigMap x: is in namespace b, but its owner is in a',
    ],
    ['an object twice', [configMap('x'), configMap('x')], '/configmaps/a/x is desired twice'],
    [
      'another version',
      [{ apiVersion: 'v2', kind: 'ConfigMap', metadata: { name: 'x' } }],
      'has version v2, but `owns` has v1',
    ],
  ])('fails for %s, and names it', async (_, objects, message) => {
    desire = () => ({ objects });
    await put('d');
    expect(String(errors[0])).toContain(message);
    expect(client.all(CONFIG_MAPS).filter(({ metadata }) => metadata.namespace === 'b')).toEqual([]);
  });

  it('takes no object from another controller', async () => {
    const other = await client.put(DEPLOYMENTS, owner('other'));
    await clock.advance(0);
    expect(client.all(CONFIG_MAPS)[0]?.metadata.ownerReferences?.[0]?.uid).toBe(other.metadata.uid);
    await put('d');
    expect(String(errors[0])).toContain('/configmaps/a/one is controlled by Deployment other');
    expect(client.all(CONFIG_MAPS)[0]?.metadata.ownerReferences?.[0]?.uid).toBe(other.metadata.uid);
  });
});
