import { getEventListeners } from 'node:events';
import { customDefinitions } from '@gantry/custom-resources';
import { resources } from '@gantry/kinds';
import { type CustomResourceDefinition, type KubeObject, StatusError } from '@gantry/objects';
import { append, must } from '@gantry/base';
import { createLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ResourceRegistry } from '../resource-registry.ts';
import { DELETE_AS_USUAL, EVERYTHING, deleteBody } from '../registry/index.ts';
import type { Watcher } from '../cache/index.ts';
import type { WatchItem } from '../cache/object-response.ts';
import { patchBody, jsonBody, startHarness, type Harness, WRITE } from '../registry/testing.ts';
import { createLoopbackClient } from '../loopback-client.ts';
import { definitionController } from './definition-controller.ts';
import { planDefinition } from './plan-definition.ts';
import { serveDefinitions } from './serve-definitions.ts';

const DEFINITIONS = 'customresourcedefinitions';
const REF = { group: 'example.org', version: 'v1', resource: 'things' };

function definition(overrides: { plural?: string; versions?: object[] } = {}): CustomResourceDefinition & KubeObject {
  const { plural = 'things' } = overrides;
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { n: { type: 'integer', default: 3 }, s: { type: 'string' } } } },
  };
  const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: schema } };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.org` },
    spec: {
      group: 'example.org',
      scope: 'Namespaced',
      names: { plural, singular: 'thing', kind: 'Thing', listKind: 'ThingList', shortNames: ['th'] },
      versions: overrides.versions ?? [version],
    },
  } as never;
}

describe('custom resources', () => {
  let h: Harness;
  let resourceRegistry: ResourceRegistry;
  let stopping: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    resourceRegistry = new ResourceRegistry(resources);
    h = await startHarness({ resourceRegistry });
    stopping = new AbortController();
    serveDefinitions(h.deps.cache, resourceRegistry, {});
    const logger = createLogger({ service: 'test', level: 'silent' as never });
    const member = definitionController({
      cache: h.deps.cache,
      client: createLoopbackClient(h.registry),
      registry: h.registry,
      hooks: {},
      clock: h.clock,
      logger,
    });
    running = Promise.resolve(member.run(stopping.signal)).then(() => undefined);
  });
  afterEach(async () => {
    stopping.abort();
    await h.settle(running);
  });

  const until = async (holds: () => boolean): Promise<void> => {
    for (let i = 0; i < 200 && !holds(); i++) await h.clock.advance(10);
    expect(holds()).toBe(true);
  };
  const establish = async (crd = definition()) => {
    await h.create(DEFINITIONS, crd);
    await until(() => resourceRegistry.find(REF) !== undefined);
    return must(resourceRegistry.find(REF), 'things');
  };
  const things = () => must(resourceRegistry.find(REF), 'things');
  const create = (name: string, spec: object, options = WRITE) => {
    const body = jsonBody({ apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name }, spec });
    const target = { definition: things(), namespace: 'n', name: '', subresource: '' };
    return h.settle(h.registry.create(h.context(), target, body, options));
  };

  it('are served when their definition is established, pruned and with defaults', async () => {
    await establish();
    const made = await create('a', { s: 'x', bogus: 1 }, { ...WRITE, fieldValidation: 'Ignore' });
    expect(made.object).toMatchObject({ spec: { n: 3, s: 'x' }, metadata: { generation: 1 } });
    expect((made.object as KubeObject & { spec: object }).spec).not.toHaveProperty('bogus');
    await expect(create('b', { bogus: 1 })).rejects.toMatchObject({
      message: expect.stringContaining('strict decoding error: unknown field "spec.bogus"') as string,
    });
    await expect(create('b', { s: 1 })).rejects.toMatchObject({
      message:
        'Thing.example.org "b" is invalid: spec.s: Invalid value: "integer": spec.s in body must be of type string: "integer"',
    });
  });

  it('go with their definition, and watches on them end', async () => {
    const old = await establish();
    await create('a', {});
    const request = { ...EVERYTHING, sendInitialEvents: undefined, allowBookmarks: false } as const;
    const items = await h.settle(h.registry.watch(h.context(), old, request));
    const seen: string[] = [];
    const watching = (async () => {
      for await (const batch of items)
        append(
          seen,
          batch.map((item: WatchItem) => item.type),
        );
    })();
    const target = h.target(DEFINITIONS, 'things.example.org');
    const marked = await h.settle(h.registry.delete(h.context(), target, deleteBody(DELETE_AS_USUAL)));
    expect(marked.gone).toBe(false);
    expect(marked.response.object.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await until(() => resourceRegistry.find(REF) === undefined);
    await h.settle(watching);
    expect(seen[0]).toBe('ADDED');
    await expect(h.settle(h.registry.get(h.context(), target, ''))).rejects.toBeInstanceOf(StatusError);
    expect(h.deps.cache.resource(old).snapshot()).toEqual([]);
    await establish();
    expect((await h.settle(h.registry.list(h.context(), things(), EVERYTHING))).items).toEqual([]);
  });

  it('leave no listener behind for a watch that has ended', async () => {
    const served = await establish();
    const lifetime = must(resourceRegistry.lifetime(served), 'the lifetime of a custom resource');
    const before = getEventListeners(lifetime, 'abort').length;
    const { context } = h;
    const request = { ...EVERYTHING, sendInitialEvents: undefined, allowBookmarks: false } as const;
    const signals: AbortSignal[] = [];
    for (let i = 0; i < 10; i++) {
      const ended = new AbortController();
      signals.push(ended.signal);
      const items = await h.settle(h.registry.watch(context({ signal: ended.signal }), served, request));
      const reading = (async () => {
        for await (const _batch of items) expect.unreachable('there are no objects');
      })();
      expect(getEventListeners(lifetime, 'abort').length).toBe(before + 1);
      if (i % 2 === 0) ended.abort();
      else (items as Watcher).close('too-slow');
      await h.settle(reading);
    }
    expect(getEventListeners(lifetime, 'abort').length).toBe(before);
    for (const signal of signals) expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('may be changed while their definition goes, and made no more', async () => {
    const served = await establish();
    const finalizers = ['example.org/keep'];
    const body = jsonBody({
      apiVersion: 'example.org/v1',
      kind: 'Thing',
      metadata: { name: 'a', finalizers },
      spec: {},
    });
    const collection = { definition: served, namespace: 'n', name: '', subresource: '' };
    await h.settle(h.registry.create(h.context(), collection, body, WRITE));
    await h.settle(
      h.registry.delete(h.context(), h.target(DEFINITIONS, 'things.example.org'), deleteBody(DELETE_AS_USUAL)),
    );
    await until(() => things().publishedVerbs !== undefined);
    await expect(h.create(DEFINITIONS, definition())).rejects.toMatchObject({
      message: `object is being deleted: ${DEFINITIONS}.apiextensions.k8s.io "things.example.org" already exists`,
    });
    await expect(create('b', {})).rejects.toMatchObject({
      message:
        'things.example.org "b" is forbidden: create not allowed while custom resource definition is terminating',
    });
    const patch = new TextEncoder().encode('{"metadata":{"finalizers":null}}');
    const one = { ...collection, definition: things(), name: 'a' };
    await h.settle(h.registry.patch(h.context(), one, patchBody('application/merge-patch+json', patch), WRITE));
    await until(() => resourceRegistry.find(REF) === undefined);
  });

  it.each([
    ['the newest version that may be used', ['v2', 'v3', 'v1'], ['v1'], '; use example.org/v3 Thing'],
    ['a version, not its beta', ['v2beta1', 'v2', 'v1'], ['v1'], '; use example.org/v2 Thing'],
    ['no version that is deprecated too', ['v2', 'v1'], ['v1', 'v2'], ''],
    ['no older version', ['v1', 'v1beta1'], ['v1'], ''],
  ])('warn about a deprecated version and name %s', (_, versions, deprecated, advice) => {
    const all = customDefinitions(
      definition({
        versions: versions.map((name, index) => ({
          name,
          served: true,
          storage: index === 0,
          deprecated: deprecated.includes(name),
          schema: { openAPIV3Schema: { type: 'object' } },
        })),
      }),
      {},
    );
    const old = all.find(({ version }) => version === 'v1');
    expect(old?.requestWarnings).toEqual([`example.org/v1 Thing is deprecated${advice}`]);
  });

  it('warn in the words of the definition where it has some', () => {
    const version = { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } };
    const [only] = customDefinitions(
      definition({ versions: [{ ...version, deprecated: true, deprecationWarning: 'Use something else.' }] }),
      {},
    );
    expect(only?.requestWarnings).toEqual(['Use something else.']);
  });

  it('may share no names with others of their group', () => {
    const other = { ...definition({ plural: 'others' }), status: { acceptedNames: definition().spec.names } };
    const action = planDefinition(definition(), [other], 0);
    expect(action).toMatchObject({
      kind: 'write-status',
      status: {
        conditions: [
          { type: 'NamesAccepted', status: 'False', message: '"ThingList" is already in use' },
          { type: 'Established', status: 'False', reason: 'NotAccepted' },
        ],
      },
    });
  });

  it('are planned once: what was decided is not decided again', () => {
    const crd = definition();
    const action = planDefinition(crd, [], 0);
    const status = action?.kind === 'write-status' ? action.status : undefined;
    expect(planDefinition({ ...crd, status }, [], 5)).toBeUndefined();
  });
});

describe('versions of a custom resource', () => {
  const version = (name: string, more: object) => ({
    name,
    served: true,
    storage: name === 'v1',
    schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    ...more,
  });
  const crd = definition({ versions: [version('v1', {}), version('v2', {})] });
  const object = { apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name: 'a' }, spec: { n: 1 } } as KubeObject;

  it('show what is stored under another name', () => {
    const [, v2] = customDefinitions(crd, {});
    const shown = v2?.storage?.fromStored(object);
    expect(shown).toMatchObject({ apiVersion: 'example.org/v2', spec: { n: 1 } });
    expect(v2?.storage?.toStored(must(shown, 'shown'))).toMatchObject({ apiVersion: 'example.org/v1' });
  });

  it('ask their webhook, for what is of another version alone', async () => {
    const asked: string[] = [];
    const conversion = { strategy: 'Webhook' } as never;
    const converting = { ...crd, spec: { ...crd.spec, conversion } };
    const [v1, v2] = customDefinitions(converting, {
      convert: (objects, apiVersion) => {
        asked.push(apiVersion);
        return Promise.resolve(objects.map((one) => ({ ...one, apiVersion, spec: { m: 1 } }) as KubeObject));
      },
    });
    expect(await v1?.storage?.remote?.fromStored([object])).toMatchObject([{ spec: { n: 1 } }]);
    expect(asked).toEqual([]);
    expect(await v2?.storage?.remote?.fromStored([object])).toMatchObject([
      { apiVersion: 'example.org/v2', spec: { m: 1 } },
    ]);
    expect(asked).toEqual(['example.org/v2']);
  });
});
