import { expect, test } from 'vitest';
import { originFor, pagePolicy } from './guard.ts';
import { targetOf } from './pass-on.ts';

const ORIGINS = ['http://127.0.0.1:8700', 'http://localhost:8700', 'https://console.example'];

test.each([
  ['127.0.0.1:8700', ORIGINS[0]],
  ['LOCALHOST:8700', ORIGINS[1]],
  ['console.example', ORIGINS[2]],
  ['127.0.0.1', undefined],
  ['127.0.0.1:8701', undefined],
  ['evil.example:8700', undefined],
  ['127.0.0.1:8700.evil.example', undefined],
  ['console.example:8700', undefined],
  ['', undefined],
  [undefined, undefined],
])('the host %s is of the origin %s', (host, origin) => {
  expect(originFor(host, ORIGINS)).toBe(origin);
});

test('a target is the part of the path behind the prefix, as it was sent', () => {
  const kept = '/api/v1/namespaces/a/pods/b:80/proxy/c%20d?watch=1&x=/../y';
  expect(targetOf(`/kubernetes${kept}`, '/kubernetes')).toBe(kept);
  for (const other of [
    '/',
    '/kubernetes',
    '/kubernetesx/api',
    'http://127.0.0.1:8700/kubernetes/api',
    '*',
    '//kubernetes/api',
  ])
    expect(targetOf(other, '/kubernetes')).toBeUndefined();
});

test.each([
  '/kubernetes/../session',
  '/kubernetes/api/../../etc',
  '/kubernetes/api/%2e%2e/x',
  '/kubernetes/api/.%2E/x',
  '/kubernetes/api/./x',
  '/kubernetes/api/%2e',
  '/kubernetes/api/..%2fx',
  '/kubernetes/api/x%2F..%2Fy',
  '/kubernetes/api\\..\\x',
  '/kubernetes/api/..%5cx',
  '/kubernetes//evil.example/x',
])('a path that another server may read differently is refused: %s', (url) => {
  expect(() => targetOf(url, '/kubernetes')).toThrow('has segments that are not names');
});

test('the policy of the page lets it connect to its own origin alone, and run its own scripts alone', () => {
  const policy = pagePolicy('https://console.example');
  expect(policy).toContain("default-src 'none'; script-src 'self'; ");
  expect(policy).toContain("connect-src 'self' wss://console.example; ");
  expect(policy).not.toMatch(/unsafe|data:|\*/);
});
