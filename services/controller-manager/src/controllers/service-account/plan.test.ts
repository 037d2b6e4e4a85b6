import type { Namespace, ServiceAccount } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { planDefaultAccount } from './plan.ts';

const namespace: Namespace = {
  apiVersion: 'v1',
  kind: 'Namespace',
  metadata: { name: 'a' },
  status: { phase: 'Active' },
};
const account: ServiceAccount = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'default', namespace: 'a' },
};

describe('planning the default account', () => {
  it('makes it where it is missing, once', () => {
    expect(planDefaultAccount(namespace, undefined).actions).toEqual([{ kind: 'create', account }]);
    expect(planDefaultAccount(namespace, account).actions).toEqual([]);
  });

  it('makes none in a namespace that is gone or going', () => {
    const going = { ...namespace, metadata: { name: 'a', deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(planDefaultAccount(going, undefined).actions).toEqual([]);
    expect(planDefaultAccount(undefined, undefined).actions).toEqual([]);
  });
});
