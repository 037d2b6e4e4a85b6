import { expect, test } from 'vitest';
import type { ServiceContainer } from './compose.ts';
import { requirePublishedApi } from './published-api.ts';

const container = (service: string, state: string): ServiceContainer => ({
  name: `gantry-a-${service}-1`,
  service,
  state,
  health: '',
  image: 'haproxy:3.0',
});

test.each([
  ['has no container', [container('load-balancer', 'running')]],
  ['has no container', []],
  ['is restarting, not running', [container('agent-gateway', 'restarting')]],
  ['is exited, not running', [container('agent-gateway', 'exited')]],
])('the API is not published where its gateway %s', (why, containers) => {
  expect(() => requirePublishedApi(containers, '192.0.2.1')).toThrow(
    expect.objectContaining({
      message: `the API of this cluster is not published for other machines: the service agent-gateway ${why}`,
      fix: 'GANTRY_OVERLAYS=hosts GANTRY_HOST_ADDRESS=192.0.2.1 npm run up',
    }),
  );
});

test('the API is published where its gateway runs', () => {
  const containers = [container('load-balancer', 'running'), container('agent-gateway', 'running')];
  expect(() => requirePublishedApi(containers, '192.0.2.1')).not.toThrow();
});
