import { expect, it } from 'vitest';
import { ANONYMOUS, authenticated } from '../authn/identity.ts';
import { fixedPathRight } from './fixed-rights.ts';

it('shows health and version to all, and metrics to services alone', () => {
  const service = authenticated('system:kube-scheduler', ['gantry:services']);
  for (const path of ['/livez', '/readyz/etcd', '/healthz', '/version']) {
    expect(fixedPathRight(ANONYMOUS, 'get', path), path).toBe(true);
    expect(fixedPathRight(ANONYMOUS, 'post', path), path).toBe(false);
  }
  for (const path of ['/versions', '/livezz', '/', '/debug/livez']) {
    expect(fixedPathRight(ANONYMOUS, 'get', path), path).toBe(false);
  }
  expect(fixedPathRight(ANONYMOUS, 'get', '/metrics')).toBe(false);
  expect(fixedPathRight(authenticated('bob', []), 'get', '/metrics')).toBe(false);
  expect(fixedPathRight(service, 'get', '/metrics')).toBe(true);
});
