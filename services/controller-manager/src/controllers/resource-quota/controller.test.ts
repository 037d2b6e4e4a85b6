import {
  API_SERVICES,
  CUSTOM_RESOURCE_DEFINITIONS,
  type Resource,
  RESOURCE_QUOTAS,
  type ResourceQuota,
  StatusError,
} from '@gantry/objects';
import { FakeObjectClient } from '@gantry/client/testing';
import { establishedDefinition, FLUNDERS, wardleApiService, WIDGETS } from '@gantry/controller-runtime/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness, type RunOptions } from '../../testing/controller-harness.ts';
import { resourceQuotaController } from './controller.ts';

const COUNT = 'count/widgets.example.com';
const FLUNDER_COUNT = 'count/flunders.wardle.example.com';

describe('a quota of custom resources', () => {
  let clock: ControllerHarness['clock'];
  let client: ControllerHarness['client'];
  let stop: AbortController;
  let start: ControllerHarness['run'];
  beforeEach(async () => {
    ({ clock, client, stop, run: start } = createControllerHarness());
    await client.put(RESOURCE_QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'q', namespace: 'a' },
      spec: { hard: { [COUNT]: '5', [FLUNDER_COUNT]: '5' } },
    });
  });

  const run = async (more: Pick<RunOptions, 'aggregated'> = {}) => {
    start([resourceQuotaController], more);
    await clock.advance(100);
  };
  /** Sets what was counted before the controller started. */
  const remember = async (before: Readonly<Record<string, string>>) => {
    const [quota] = client.all(RESOURCE_QUOTAS);
    const object = { ...quota, status: { hard: { ...quota?.spec?.hard }, used: before } } as ResourceQuota;
    await client.updateStatus(RESOURCE_QUOTAS, object, stop.signal);
  };
  const widget = (name: string) =>
    client.put(WIDGETS, {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name, namespace: 'a' },
    });
  const used = (name = COUNT) => client.all(RESOURCE_QUOTAS)[0]?.status?.used?.[name];

  it('counts anew as soon as one has gone', async () => {
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await widget('one');
    await widget('other');
    await run();
    expect(used()).toBe('2');
    await client.delete(WIDGETS, { namespace: 'a', name: 'one' }, {}, stop.signal);
    await clock.advance(100);
    expect(used()).toBe('1');
  });

  it('counts again soon after a limit was set, what was admitted without it', async () => {
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await run();
    expect(used()).toBe('0');
    await widget('one');
    await clock.advance(5000);
    expect(used(), 'its creation says nothing: admission counts').toBe('0');
    await clock.advance(5000);
    expect(used()).toBe('1');
  });

  it('counts a new one again soon beside one that is as it was', async () => {
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await client.put(RESOURCE_QUOTAS, {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'z', namespace: 'a' },
      spec: { hard: { pods: '5' } },
      status: { hard: { pods: '5' }, used: { pods: '0' } },
    });
    await run();
    await widget('one');
    await clock.advance(10_000);
    expect(used()).toBe('1');
  });

  it('counts when their kind is defined later', async () => {
    await run();
    expect(used()).toBe('0');
    await widget('one');
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await clock.advance(100);
    expect(used()).toBe('1');
  });

  it('keeps the count while they cannot be listed', async () => {
    await remember({ [COUNT]: '3' });
    await client.put(CUSTOM_RESOURCE_DEFINITIONS, establishedDefinition());
    await widget('one');
    let state: 'broken' | 'mended' = 'broken';
    const isHit = ({ resource }: { resource: Resource }) => resource.resource === 'widgets' && state === 'broken';
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
    await extension.put(FLUNDERS, {
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
