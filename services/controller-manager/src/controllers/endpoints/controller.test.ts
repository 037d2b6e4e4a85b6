import { ENDPOINTS, type Endpoints, PODS, SERVICES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { createEndpointsController } from './controller.ts';

const KEY = { namespace: 'n', name: 'sv' };
const addressesOf = (all: readonly Endpoints[]) =>
  all.flatMap(({ subsets = [] }) => subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)));
const verbsOf = ({ client }: ControllerHarness) =>
  client.writes.filter(({ resource }) => resource.resource === 'endpoints').map(({ verb }) => verb);
const endpointsOfUser: Endpoints = {
  apiVersion: 'v1',
  kind: 'Endpoints',
  metadata: { ...KEY },
  subsets: [{ addresses: [{ ip: '192.0.2.1' }] }],
};

it('follows the pods of a Service, also when its selector changes, and ends with it', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  const service = await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  await client.put(PODS, sketchPod({ name: 'two', ip: '10.0.0.2', labels: { app: 'b' } }));
  harness.run([createEndpointsController()]);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINTS))).toEqual(['10.0.0.1']);
  await client.update(SERVICES, { ...service, spec: { ...service.spec, selector: { app: 'b' } } }, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINTS))).toEqual(['10.0.0.2']);
  await client.delete(ENDPOINTS, KEY, {}, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINTS))).toEqual(['10.0.0.2']);
  await client.delete(SERVICES, KEY, {}, stop.signal);
  await clock.advance(100);
  expect(client.all(ENDPOINTS)).toEqual([]);
  // The first deletion is done by the test itself.
  expect(verbsOf(harness)).toEqual(['create', 'update', 'delete', 'create', 'delete']);
});

it('leaves Endpoints of a user alone until their Service is deleted', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  await client.put(ENDPOINTS, endpointsOfUser);
  harness.run([createEndpointsController()]);
  await clock.advance(100);
  await client.put(SERVICES, sketchService({ selector: {} }));
  await clock.advance(100);
  expect(verbsOf(harness)).toEqual([]);
  await client.delete(SERVICES, KEY, {}, stop.signal);
  await clock.advance(100);
  expect(client.all(ENDPOINTS)).toEqual([]);
});

it('lets what another writer says stand until the pods change', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  harness.run([createEndpointsController()]);
  await clock.advance(100);
  const [endpoints] = client.all(ENDPOINTS);
  if (endpoints === undefined) throw new Error('no endpoints');
  await client.update(ENDPOINTS, { ...endpoints, subsets: endpointsOfUser.subsets ?? [] }, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINTS))).toEqual(['192.0.2.1']);
  await client.put(PODS, sketchPod({ name: 'two', ip: '10.0.0.2' }));
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINTS))).toEqual(['10.0.0.1', '10.0.0.2']);
});
