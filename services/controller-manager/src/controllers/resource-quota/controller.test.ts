import { type KubeObject, type ResourceQuota, type ResourceRef, StatusError } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { establishedDefinition } from '@gantry/controller-runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { runOvertaken } from '../../testing/run-overtaken.ts';
import { resourceQuotaController } from './controller.ts';

const DEFINITIONS: ResourceRef = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const QUOTAS: ResourceRef = { group: '', version: 'v1', resource: 'resourcequotas' };
const WIDGETS: ResourceRef = { group: 'example.com', version: 'v1', resource: 'widgets' };
const COUNT = 'count/widgets.example.com';

describe('a quota of custom resources', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let stop: AbortController;
  beforeEach(async () => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    stop = new AbortController();
    await client.put<ResourceQuota>(QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q', namespace: 'a' },
      spec: { hard: { [COUNT]: '5' } },
    });
  });
  afterEach(() => stop.abort());

  const run = async () => {
    const meanwhile = async () => undefined;
    runOvertaken({ controllers: [resourceQuotaController], client, clock, meanwhile }, stop.signal);
    await clock.advance(100);
  };
  const widget = (name: string) =>
    client.put<KubeObject>(WIDGETS, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name, namespace: 'a' },
    });
  const used = () => client.all<ResourceQuota>(QUOTAS)[0]?.status?.used?.[COUNT];

  it('counts anew as soon as one has gone', async () => {
    await client.put(DEFINITIONS, establishedDefinition());
    await widget('one');
    await widget('other');
    await run();
    expect(used()).toBe('2');
    await client.write({ verb: 'delete', resource: WIDGETS, key: { namespace: 'a', name: 'one' } }, stop.signal);
    await clock.advance(100);
    expect(used()).toBe('1');
  });

  it('counts when their kind is defined later', async () => {
    await run();
    expect(used()).toBe('0');
    await widget('one');
    await client.put(DEFINITIONS, establishedDefinition());
    await clock.advance(100);
    expect(used()).toBe('1');
  });

  it('keeps the count while they cannot be listed', async () => {
    const [quota] = client.all<ResourceQuota>(QUOTAS);
    const status = { hard: { [COUNT]: '5' }, used: { [COUNT]: '3' } };
    const key = { namespace: 'a', name: 'q' };
    const object = { ...quota, status } as ResourceQuota;
    await client.write({ verb: 'update', resource: QUOTAS, key, object, subresource: 'status' }, stop.signal);
    await client.put(DEFINITIONS, establishedDefinition());
    await widget('one');
    let state: 'broken' | 'mended' = 'broken';
    const isHit = ({ resource }: { resource: ResourceRef }) => resource.resource === 'widgets' && state === 'broken';
    client.failNext(isHit, StatusError.internal('conversion webhook failed'), 1000);
    await run();
    expect(used()).toBe('3');
    state = 'mended';
    await clock.advance(10_000);
    expect(used()).toBe('1');
  });
});
