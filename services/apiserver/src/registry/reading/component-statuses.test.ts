import { findResource } from '@gantry/kinds';
import { type KubeObject, isReason } from '@gantry/objects';
import { formatMicroTime, must } from '@gantry/base';
import { beforeEach, expect, it } from 'vitest';
import { ComponentStatuses } from './component-statuses.ts';
import { jsonBody, startHarness, type Harness, WRITE } from '../testing.ts';
import { EVERYTHING } from '../contract/registry.ts';

let harness: Harness;
let statuses: ComponentStatuses;

beforeEach(async () => {
  const down = { name: 'etcd-1', state: 'unhealthy', message: 'it does not answer' } as const;
  const members = [{ name: 'etcd-0', state: 'healthy', message: 'ok' } as const, down];
  harness = await startHarness();
  statuses = new ComponentStatuses({ ...harness.deps, storeHealth: () => Promise.resolve(members) });
});

const definition = must(findResource({ group: '', version: 'v1', resource: 'componentstatuses' }), 'componentstatuses');

async function listed(fieldSelector = ''): Promise<readonly [name: string, status: string, message: string][]> {
  const request = { ...EVERYTHING, fieldSelector };
  const { items } = await statuses.list(harness.context(), definition, request);
  return items.map(({ object }) => {
    const [condition] = (object as KubeObject & { conditions: { status: string; message: string }[] }).conditions;
    return [object.metadata.name ?? '', condition?.status ?? '', condition?.message ?? ''];
  });
}

it('reports elected components by their Leases, and the store by its members', async () => {
  const lease = (renewTime: string) => ({
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'kube-scheduler', namespace: 'kube-system' },
    spec: { holderIdentity: 'a', leaseDurationSeconds: 15, renewTime },
  });
  await harness.create('namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'kube-system' } });
  const target = harness.target('leases', '', { namespace: 'kube-system' });
  const body = jsonBody(lease(formatMicroTime(harness.clock.now())));
  await harness.settle(harness.registry.create(harness.context(), target, body, WRITE));
  const none = 'no leader holds the Lease kube-system/kube-controller-manager: there is none';
  expect(await listed()).toEqual([
    ['controller-manager', 'False', none],
    ['etcd-0', 'True', 'ok'],
    ['etcd-1', 'False', 'it does not answer'],
    ['scheduler', 'True', 'ok'],
  ]);
  await harness.clock.advance(16_000);
  expect((await listed('metadata.name=scheduler'))[0]?.[1]).toBe('False');
});

it('has no others', async () => {
  const target = { definition, namespace: '', name: 'router', subresource: '' };
  const told = await statuses.get(harness.context(), target, '').catch((error: unknown) => error);
  expect(isReason(told, 'NotFound')).toBe(true);
  expect((told as Error).message).toBe('componentstatus "router" not found');
});
