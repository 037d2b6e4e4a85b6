import { describe, expect, it } from 'vitest';
import { attributesOf, isLastingPart, requestAttributes } from './request-attributes.ts';
import type { Route } from './request-info.ts';

const G = '/apis/g.example.com/v1';
const resource = (verb: string, part: object) => ({
  kind: 'resource',
  group: 'g.example.com',
  version: 'v1',
  verb,
  resource: 'things',
  subresource: '',
  namespace: '',
  name: '',
  ...part,
});

it.each([
  ['GET', G, { kind: 'path', verb: 'get' }],
  ['POST', `${G}/`, { kind: 'path', verb: 'post' }],
  ['GET', `${G}/things`, resource('list', {})],
  ['GET', `${G}/things?watch=true`, resource('watch', {})],
  ['GET', `${G}/watch/things`, resource('watch', {})],
  ['GET', `${G}/things/a?watch=true`, resource('get', { name: 'a' })],
  ['constructor', `${G}/things/a`, resource('', { name: 'a' })],
  ['HEAD', `${G}/things/a`, resource('get', { name: 'a' })],
  ['DELETE', `${G}/things`, resource('deletecollection', {})],
  ['DELETE', `${G}/namespaces/n/things/a`, resource('delete', { namespace: 'n', name: 'a' })],
  [
    'PUT',
    `${G}/namespaces/n/things/a/status`,
    resource('update', { namespace: 'n', name: 'a', subresource: 'status' }),
  ],
  ['PATCH', `${G}/things/a/log/more`, resource('patch', { name: 'a', subresource: 'log' })],
  ['POST', `${G}/namespaces/n/things`, resource('create', { namespace: 'n' })],
  ['GET', `${G}/namespaces/n`, resource('get', { resource: 'namespaces', namespace: 'n', name: 'n' })],
  ['GET', `${G}/proxy/things/a/more`, resource('proxy', { name: 'a' })],
  ['GET', `/${G}/things//`, resource('list', {})],
  ['GET', `${G}//`, { kind: 'path', verb: 'get' }],
  ['GET', '/api', { kind: 'path', verb: 'get' }],
  ['GET', '/api/v1', { kind: 'path', verb: 'get' }],
  ['GET', '/apis', { kind: 'path', verb: 'get' }],
  ['GET', '/apis/g.example.com', { kind: 'path', verb: 'get' }],
  ['GET', '/version/a/b/c/d', { kind: 'path', verb: 'get' }],
  ['GET', '/api/v1/things', resource('list', { group: '' })],
  ['GET', '/api/v1/namespaces/n/things/a', resource('get', { group: '', namespace: 'n', name: 'a' })],
  [
    'PUT',
    '/api/v1/namespaces/n/finalize',
    resource('update', { group: '', resource: 'namespaces', namespace: 'n', name: 'n', subresource: 'finalize' }),
  ],
])('%s %s is a request for that', (method, url, wanted) => {
  const { pathname, searchParams } = new URL(`https://a${url}`);
  expect(requestAttributes({ method, path: pathname, query: searchParams })).toMatchObject(wanted);
});

describe('a request for a resource that is not served', () => {
  const MISSING: Route = { kind: 'missing' };
  const query = new URLSearchParams();
  const asked = { method: 'GET', path: '/api/v1/namespaces/n/things/a/status', query };

  it('is one for that resource to flow schemas and to the audit log', () => {
    const attributes = { kind: 'resource', verb: 'get', group: '', resource: 'things', subresource: 'status' };
    expect(attributesOf(asked, MISSING)).toMatchObject({ ...attributes, namespace: 'n', name: 'a' });
    expect(isLastingPart(attributesOf(asked, MISSING))).toBe(false);
  });

  it('is none to flow schemas where it would last', () => {
    expect(isLastingPart(attributesOf({ ...asked, path: '/api/v1/things/a/proxy' }, MISSING))).toBe(true);
  });

  it('is one for a path where that is no resource', () => {
    const other = { ...asked, path: '/other' };
    expect(attributesOf(other, { kind: 'other' })).toEqual({ kind: 'path', verb: 'get', path: '/other' });
  });
});
