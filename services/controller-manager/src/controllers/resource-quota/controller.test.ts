import { type KubeObject, type ResourceQuota, type ResourceRef, StatusError } from '@gantry/api';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { API_SERVICES, DEFINITIONS, establishedDefinition, wardleApiService } from '@gantry/controller-runtime/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OvertakenOptions, runOvertaken } from '../../testing/run-overtaken.ts';
import { resourceQuotaController } from './controller.ts';

const QUOTAS: ResourceRef = { group: '', version: 'v1', resource: 'resourcequotas' };
const WIDGETS: ResourceRef = { group: 'example.com', version: 'v1', resource: 'widgets' };
const FLUNDERS: ResourceRef = { group: 'wardle.example.com', version: 'v1', resource: 'flunders' };
const COUNT = 'count/widgets.example.com';
const FLUNDER_COUNT = 'count/flunders.wardle.example.com';

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
      spec: { hard: { [COUNT]: '5', [FLUNDER_COUNT]: '5' } },
    });
  });
  afterEach(() => stop.abort());

  const run = async (more: Pick<OvertakenOptions, 'aggregated'> = {}) => {
    const meanwhile = async () => undefined;
    runOvertaken({ controllers: [resourceQuotaController], client, clock, meanwhile, ...more }, stop.signal);
    await clock.advance(100);
  };
  /** What was counted before the controller began. */
  const remember = async (before: Readonly<Record<string, string>>) => {
    const [quota] = client.all<ResourceQuota>(QUOTAS);
    const object = { ...quota, status: { hard: { ...quota?.spec?.hard }, used: before } } as ResourceQuota;
    const key = { namespace: 'a', name: 'q' };
    await client.write({ verb: 'update', resource: QUOTAS, key, object, subresource: 'status' }, stop.signal);
  };
  const widget = (name: string) =>
    client.put<KubeObject>(WIDGETS, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name, namespace: 'a' },
    });
  const used = (name = COUNT) => client.all<ResourceQuota>(QUOTAS)[0]?.status?.used?.[name];

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
    await remember({ [COUNT]: '3' });
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

  it('keeps the count of what another server serves until that says what it serves', async () => {
    await remember({ [COUNT]: '3', [FLUNDER_COUNT]: '3' });
    await client.put(API_SERVICES, wardleApiService());
    const extension = new FakeObjectClient(clock);
    await extension.put<KubeObject>(FLUNDERS, {
      apiVersion: 'wardle.example.com/v1',
      kind: 'Flunder',
      metadata: { name: 'one', namespace: 'a' },
    });
    let server: 'answers' | 'down' = 'down';
    const discover = async () => {
      if (server === 'down') throw StatusError.unavailable('down');
      return [{ resource: 'flunders', kind: 'Flunder', namespaced: true, verbs: ['list', 'watch', 'delete'] }];
    };
    await run({ aggregated: { client: extension, discover } });
    expect([used(), used(FLUNDER_COUNT)]).toEqual(['0', '3']);
    server = 'answers';
    await clock.advance(40_000);
    expect(used(FLUNDER_COUNT)).toBe('1');
  });
});
