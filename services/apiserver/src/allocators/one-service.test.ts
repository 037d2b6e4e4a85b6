import type { KubeObject, Service } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { startHarness, definitionOf, type Harness } from '../registry/testing.ts';
import { createAllocators } from './index.ts';

const never = new AbortController().signal;

describe('the allocators', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await startHarness();
  });

  const service = (clusterIP: string): Service & KubeObject => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 's', namespace: 'n', uid: 'uid-s' },
    spec: { clusterIP, ports: [{ port: 80 }] },
  });
  const begin = (clusterIP: string) => {
    const claimant = {
      definition: definitionOf('services'),
      object: service(clusterIP),
      old: undefined,
      dryRun: false,
    };
    return h.settle(createAllocators({ ...h.deps, serviceCidr: '10.96.0.0/16' }).claim(claimant, never));
  };
  const claims = async () => (await h.settle(h.store.list('/gantry/allocations/', {}, never))).objects.length;

  it('leave to a write what it has claimed when another write of the same Service fails', async () => {
    const winner = await begin('10.96.0.7');
    const loser = await begin('10.96.0.7');
    await h.settle(loser.rollback());
    expect(await claims()).toBe(1);
    await h.settle(winner.rollback());
    expect(await claims()).toBe(0);
  });

  it('refuse an address outside of the range', async () => {
    for (const address of ['10.97.0.1', '192.168.0.1', '127.0.0.1']) {
      await expect(begin(address)).rejects.toThrow('the provided network does not match the current range');
    }
    expect(await claims()).toBe(0);
  });
});
