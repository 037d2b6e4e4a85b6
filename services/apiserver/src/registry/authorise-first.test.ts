import { type JsonObject, StatusError } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { createRegistry } from './create-registry.ts';
import { EVERYTHING, type Registry, type RequestContext } from './contract/registry.ts';
import { allowAll, startHarness, definitionOf, type Harness, jsonBody, patchBody, WRITE } from './testing.ts';

describe('the order of a write', () => {
  let h: Harness;
  let reads: number;
  beforeEach(async () => {
    h = await startHarness();
    reads = 0;
  });

  const refusing = () => {
    const authorize = (): void => {
      throw StatusError.forbidden({ group: '', resource: 'things' }, '', 'refused');
    };
    return createRegistry({ ...h.deps, authorizer: { ...allowAll, authorize } });
  };
  const read = () => {
    reads++;
    return Promise.reject<never>(new Error('read'));
  };
  const body = { mediaType: 'application/json', read } as const;

  const WRITES: Readonly<Record<string, (registry: Registry, context: RequestContext) => Promise<unknown>>> = {
    create: (registry, context) => registry.create(context, h.target('configmaps', ''), body, WRITE),
    'a review': (registry, context) => registry.create(context, h.target('subjectaccessreviews', ''), body, WRITE),
    bind: (registry, context) =>
      registry.create(context, h.target('pods', 'p', { subresource: 'binding' }), body, WRITE),
    'bind by the body': (registry, context) => registry.create(context, h.target('bindings', ''), body, WRITE),
    evict: (registry, context) =>
      registry.create(context, h.target('pods', 'p', { subresource: 'eviction' }), body, WRITE),
    'a token': (registry, context) =>
      registry.create(context, h.target('serviceaccounts', 'a', { subresource: 'token' }), body, WRITE),
    update: (registry, context) => registry.update(context, h.target('configmaps', 'a'), body, WRITE),
    status: (registry, context) =>
      registry.update(context, h.target('deployments', 'a', { subresource: 'status' }), body, WRITE),
    scale: (registry, context) =>
      registry.update(context, h.target('deployments', 'a', { subresource: 'scale' }), body, WRITE),
    patch: (registry, context) =>
      registry.patch(context, h.target('configmaps', 'a'), { type: 'application/merge-patch+json', read }, WRITE),
    apply: (registry, context) =>
      registry.patch(context, h.target('configmaps', 'a'), { type: 'application/apply-patch+yaml', read }, WRITE),
    delete: (registry, context) => registry.delete(context, h.target('configmaps', 'a'), { read }),
    deletecollection: (registry, context) =>
      registry.deleteCollection(context, definitionOf('configmaps'), { ...EVERYTHING, namespace: 'n' }, { read }),
  };

  it.each(Object.entries(WRITES))('reads no body of an unauthorised request: %s', async (_verb, write) => {
    await expect(h.settle(write(refusing(), h.context()))).rejects.toMatchObject({ reason: 'Forbidden' });
    expect(reads).toBe(0);
    await expect(h.settle(write(h.registry, h.context()))).rejects.toBeDefined();
    expect(reads).toBe(1);
  });

  const agent = { name: 'system:node:a', uid: '', groups: ['system:nodes', 'system:authenticated'], extra: {} };

  it('asks again with the object where rules for agents read it, and only there', async () => {
    const asked: string[] = [];
    const authorize = (_user: unknown, verb: string, target: object, object: JsonObject | undefined): void => {
      const { definition } = target as { definition: { resource: string } };
      asked.push(`${verb} ${definition.resource} ${object === undefined ? 'before the body' : 'with the object'}`);
    };
    const registry = createRegistry({ ...h.deps, authorizer: { ...allowAll, authorize } });
    await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
    const containers = [{ name: 'c', image: 'nginx' }];
    await h.create('pods', {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { nodeName: 'a', containers },
    });
    const context = h.context({ user: agent });
    const node = jsonBody({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' } });
    await h.settle(registry.create(context, h.target('nodes', ''), node, WRITE));
    const status = patchBody('application/merge-patch+json', Buffer.from('{"status":{"phase":"Running"}}'));
    await h.settle(registry.patch(context, h.target('pods', 'p', { subresource: 'status' }), status, WRITE));
    const map = jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' } });
    await h.settle(registry.create(context, h.target('configmaps', ''), map, WRITE));
    expect(asked).toEqual([
      'create nodes before the body',
      'patch pods before the body',
      'patch pods with the object',
      'create configmaps before the body',
    ]);
  });
});
