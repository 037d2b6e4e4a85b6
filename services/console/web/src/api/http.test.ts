import { describe, expect, it } from 'vitest';
import { addressOf } from './http.ts';
import { objectPath } from './kinds.ts';

describe('addressOf', () => {
  it.each([
    '/api',
    '/apis/apps/v1/namespaces/a/deployments?x=/../y',
    '/api/v1/namespaces/a/pods/b:80/proxy/',
    '/gantry/v1/loops',
  ])('keeps %s', (path) => expect(addressOf(path)).toBe(`/kubernetes${path}`));

  it.each([
    '/api/../session',
    '/api/%2e%2e/session',
    '/api/v1/./pods',
    '/api/v1/a\\b',
    '/api/v1/a\tb',
    '/a b',
    'x',
    '//evil.example/x/..',
  ])('refuses %j, which a browser would change', (path) =>
    expect(() => addressOf(path)).toThrow('segments that are not names'),
  );

  it('refuses an object that a link names like the folder above', () => {
    const kind = { group: '', version: 'v1', resource: 'configmaps', isNamespaced: true } as Parameters<
      typeof objectPath
    >[0];
    for (const name of ['.', '..']) expect(() => addressOf(objectPath(kind, 'default', name))).toThrow('path: ');
    expect(addressOf(objectPath(kind, 'default', 'a/../b?c#d'))).toBe(
      '/kubernetes/api/v1/namespaces/default/configmaps/a%2F..%2Fb%3Fc%23d',
    );
  });
});
