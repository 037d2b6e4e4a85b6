import { expect, it } from 'vitest';
import { requestName } from './docker-runtime.ts';

it.each([
  ['GET', '/_ping?', 'GET /_ping'],
  ['GET', '/containers/json?', 'GET /containers/json'],
  ['POST', '/containers/create?', 'POST /containers/create'],
  ['POST', '/containers/0c3f/start?', 'POST /containers/{}/start'],
  ['DELETE', '/containers/0c3f?', 'DELETE /containers/{}'],
  ['GET', '/images/registry.k8s.io/pause:3.10/json?', 'GET /images/{}/json'],
  ['POST', '/images/create?', 'POST /images/create'],
  ['POST', '/exec/77/start', 'POST /exec/{}/start'],
])('%s %s is reported as %s: a series for each id would never end', (method, path, name) => {
  expect(requestName(method, path)).toBe(name);
});
