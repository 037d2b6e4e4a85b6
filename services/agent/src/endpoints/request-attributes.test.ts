import { expect, it } from 'vitest';
import { nodeRequest } from './request-attributes.ts';

// As in TestGetRequestAttributes of pkg/kubelet/server/auth_test.go.
it.each([
  ['GET', '/', 'get', ['proxy']],
  ['GET', '/pods', 'get', ['pods', 'proxy']],
  ['GET', '/pods/', 'get', ['pods', 'proxy']],
  ['GET', '/podsx', 'get', ['proxy']],
  ['GET', '/runningpods/', 'get', ['pods', 'proxy']],
  ['GET', '/healthz', 'get', ['healthz', 'proxy']],
  ['GET', '/healthz/ping', 'get', ['healthz', 'proxy']],
  ['GET', '/configz', 'get', ['configz', 'proxy']],
  ['GET', '/metrics', 'get', ['metrics']],
  ['GET', '/metrics/cadvisor', 'get', ['metrics']],
  ['GET', '/metricsx', 'get', ['proxy']],
  ['GET', '/stats/summary', 'get', ['stats']],
  ['POST', '/stats/', 'create', ['stats']],
  ['GET', '/logs/', 'get', ['log']],
  ['GET', '/containerLogs/a/b/c', 'get', ['proxy']],
  ['POST', '/exec/a/b/c', 'create', ['proxy']],
  ['PUT', '/run/a', 'update', ['proxy']],
  ['PATCH', '/run/a', 'patch', ['proxy']],
  ['DELETE', '/run/a', 'delete', ['proxy']],
  ['GET', '/constructor', 'get', ['proxy']],
])('%s %s needs %s on %j', (method, path, verb, subresources) => {
  expect(nodeRequest(method, path)).toEqual({ verb, subresources });
});
