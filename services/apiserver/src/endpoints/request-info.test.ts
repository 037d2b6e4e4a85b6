import type { ResourceDefinition } from '@gantry/apimachinery';
import { describe, expect, it } from 'vitest';
import { parseRoute, type Route } from './request-info.ts';
import { ResourceRegistry } from '../resource-registry.ts';

const ALL = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'] as const;

function definition(resource: string, rest: Partial<ResourceDefinition> = {}): ResourceDefinition {
  return {
    group: '',
    version: 'v1',
    kind: resource,
    resource,
    singular: resource,
    shortNames: [],
    categories: [],
    namespaced: true,
    schema: '',
    verbs: ALL,
    strategy: {},
    subresources: [],
    columns: [],
    selectableFields: {},
    stored: true,
    ...rest,
  };
}

const resourceRegistry = new ResourceRegistry([
  definition('namespaces', { namespaced: false, subresources: [{ name: 'status', verbs: ['get', 'update'] }] }),
  definition('nodes', { namespaced: false }),
  definition('pods', { subresources: [{ name: 'binding', verbs: ['create'] }] }),
  definition('bindings', { verbs: ['create'] }),
  definition('deployments', { group: 'apps' }),
]);

function routeOf(method: string, url: string): Route {
  const { pathname, searchParams } = new URL(url, 'http://server');
  return parseRoute({ method, path: pathname, query: searchParams }, resourceRegistry);
}

function describeRoute(path: string): string {
  const route = routeOf('GET', path);
  if (route.kind !== 'resource') return route.kind;
  const { definition: found, namespace, name, subresource, reach, verb } = route;
  return [found.resource, reach, namespace, name, subresource?.name ?? '', verb ?? 'none'].join(' ');
}

describe('parseRoute', () => {
  it.each([
    ['/api/v1/namespaces', 'namespaces cluster    list'],
    ['/api/v1/namespaces/a', 'namespaces cluster  a  get'],
    ['/api/v1/namespaces/a/status', 'namespaces cluster  a status get'],
    ['/api/v1/namespaces/a/pods', 'pods namespace a   list'],
    ['/api/v1/namespaces/a/pods/', 'pods namespace a   list'],
    ['/api/v1/namespaces/a/pods/x', 'pods namespace a x  get'],
    ['/api/v1/namespaces/a/pods/x/binding', 'pods namespace a x binding none'],
    ['/api/v1/pods', 'pods all    list'],
    ['/api/v1/nodes/n', 'nodes cluster  n  get'],
    ['/api/v1/watch/namespaces/a/pods/x', 'pods namespace a x  watch'],
    ['/api/v1/watch/pods', 'pods all    watch'],
    ['/apis/apps/v1/namespaces/a/deployments', 'deployments namespace a   list'],
    ['/api/v1/namespaces/a/bindings', 'bindings namespace a   none'],
    ['/api/v1/namespaces/a/bindings/x', 'missing'],
    ['/api/v1/bindings', 'missing'],
    ['/api/v1/pods/x', 'missing'],
    ['/api/v1/bogus', 'missing'],
    ['/api/v1/namespaces/a/nodes', 'missing'],
    ['/api/v1/namespaces/a/pods/x/bogus', 'missing'],
    ['/api/v1/namespaces/a/pods/x/binding/more', 'missing'],
    ['/apis/apps/v9/deployments', 'missing'],
    ['/apis/nope.example.org/v1/things', 'other'],
    ['/apis/apps/v1', 'other'],
    ['/api', 'other'],
    ['//api/v1/namespaces', 'other'],
    ['/readyz', 'other'],
  ])('%s is %s', (path, expected) => {
    expect(describeRoute(path)).toBe(expected);
  });
});

describe('the verb of a route', () => {
  it.each([
    ['GET', '/api/v1/pods', 'list'],
    ['POST', '/api/v1/pods', undefined],
    ['DELETE', '/api/v1/pods', undefined],
    ['DELETE', '/api/v1/namespaces/a/pods', 'deletecollection'],
    ['POST', '/api/v1/namespaces/a/pods', 'create'],
    ['POST', '/api/v1/namespaces/a/pods/x', undefined],
    ['PUT', '/api/v1/namespaces/a/pods', undefined],
    ['PUT', '/api/v1/namespaces/a/pods/x', 'update'],
    ['HEAD', '/api/v1/namespaces/a/pods/x', undefined],
    ['OPTIONS', '/api/v1/namespaces/a/pods', undefined],
    ['POST', '/api/v1/namespaces/a/pods/x/binding', 'create'],
    ['GET', '/api/v1/namespaces/a/pods/x/binding', undefined],
    ['GET', '/api/v1/watch/namespaces/a/pods', 'watch'],
  ])('%s %s is %s', (method, path, expected) => {
    const route = routeOf(method, path);
    expect(route.kind === 'resource' ? route.verb : 'no resource').toBe(expected);
  });

  it('does not watch one object but by the old path', () => {
    const verb = (path: string) => {
      const route = routeOf('GET', `${path}?watch=true`);
      return route.kind === 'resource' ? route.verb : 'no resource';
    };
    expect(verb('/api/v1/namespaces/a/pods')).toBe('watch');
    expect(verb('/api/v1/namespaces/a/pods/x')).toBe('get');
    expect(verb('/api/v1/watch/namespaces/a/pods/x')).toBe('watch');
  });
});
