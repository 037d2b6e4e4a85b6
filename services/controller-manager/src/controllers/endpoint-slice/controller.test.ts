import { ENDPOINT_SLICES, type EndpointSlice, NODES, PODS, SERVICES, StatusError } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { type ControllerHarness, createControllerHarness } from '../../testing/controller-harness.ts';
import { sketchNode, sketchPod, sketchService } from '../../testing/service-fixtures.ts';
import { createEndpointSliceController } from './controller.ts';

const addressesOf = (slices: readonly EndpointSlice[]) =>
  slices.flatMap(({ endpoints = [] }) => endpoints.flatMap(({ addresses }) => addresses)).sort();
const writesOf = ({ client }: ControllerHarness) =>
  client.writes.filter(({ resource }) => resource.resource === 'endpointslices').map(({ verb }) => verb);

it('follows pods with one write each, and does nothing after its own writes', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  await client.put(NODES, sketchNode('node'));
  await client.put(SERVICES, sketchService());
  await client.put(SERVICES, sketchService({ selector: { app: 'other' } }, { name: 'other', uid: 'other' }));
  const one = await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  const metrics = createMetrics();
  harness.run([createEndpointSliceController(createMeters(metrics).slices)]);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual(['10.0.0.1']);
  expect(writesOf(harness)).toEqual(['create', 'create']);
  await client.put(PODS, sketchPod({ name: 'two', ip: '10.0.0.2' }));
  await clock.advance(100);
  await client.updateStatus(PODS, { ...one, status: { ...one.status, hostIP: '10.9.9.9' } }, stop.signal);
  await clock.advance(100);
  await client.delete(PODS, { namespace: 'n', name: 'two' }, { gracePeriodSeconds: 0 }, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual(['10.0.0.1']);
  expect(writesOf(harness)).toEqual(['create', 'create', 'update', 'update']);
  const { text } = await metrics.render();
  for (const line of [
    'endpoint_slice_controller_changes{operation="create"} 2',
    'endpoint_slice_controller_changes{operation="update"} 2',
    // The Service without pods has an empty slice.
    'endpoint_slice_controller_endpoints_added_per_sync_sum 2',
    'endpoint_slice_controller_endpoints_removed_per_sync_sum 1',
    'endpoint_slice_controller_endpoints_desired 1',
    'endpoint_slice_controller_num_endpoint_slices 2',
    'endpoint_slice_controller_desired_endpoint_slices 1',
    'endpoint_slice_controller_endpointslices_changed_per_sync_sum{topology="Disabled",traffic_distribution=""} 4',
  ])
    expect(text).toContain(`${line}\n`);
  expect(text).toMatch(/^endpoint_slice_controller_syncs\{result="success"\} [4-9]$/m);
});

it('adds a pod when its node appears, and reports it before', async () => {
  const harness = createControllerHarness();
  const { client, clock, events } = harness;
  await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  harness.run([createEndpointSliceController(createMeters(createMetrics()).slices)]);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual([]);
  expect(events('Service').map(({ reason, message }) => [reason, message])).toEqual([
    [
      'FailedToUpdateEndpointSlices',
      'Error updating Endpoint Slices for Service n/sv: skipping Pod one for Service n/sv: Node node Not Found',
    ],
  ]);
  await client.put(NODES, sketchNode('node', 'east'));
  await clock.advance(100);
  expect(client.all(ENDPOINT_SLICES)).toMatchObject([{ endpoints: [{ addresses: ['10.0.0.1'], zone: 'east' }] }]);
});

it('repairs a slice that another writer changed, and replaces one that was deleted', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  await client.put(NODES, sketchNode('node'));
  await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  harness.run([createEndpointSliceController(createMeters(createMetrics()).slices)]);
  await clock.advance(100);
  const [slice] = client.all(ENDPOINT_SLICES);
  if (slice === undefined) throw new Error('no slice');
  await client.update(ENDPOINT_SLICES, { ...slice, endpoints: [{ addresses: ['10.0.0.9'] }] }, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual(['10.0.0.1']);
  await client.delete(ENDPOINT_SLICES, { namespace: 'n', name: slice.metadata.name ?? '' }, {}, stop.signal);
  await clock.advance(100);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual(['10.0.0.1']);
});

it('loses no change that another writer makes meanwhile', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop } = harness;
  await client.put(NODES, sketchNode('node'));
  await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  let acted = false;
  const meanwhile = async () => {
    const [slice] = client.all(ENDPOINT_SLICES);
    if (slice === undefined || acted) return;
    acted = true;
    const metadata = { ...slice.metadata, annotations: { note: 'kept' } };
    await client.update(ENDPOINT_SLICES, { ...slice, metadata }, stop.signal);
  };
  harness.run([createEndpointSliceController(createMeters(createMetrics()).slices)], { meanwhile });
  await clock.advance(100);
  await client.put(PODS, sketchPod({ name: 'two', ip: '10.0.0.2' }));
  await clock.advance(5000);
  const slices = client.all(ENDPOINT_SLICES);
  expect(addressesOf(slices)).toEqual(['10.0.0.1', '10.0.0.2']);
  expect(slices[0]?.metadata.annotations).toMatchObject({ note: 'kept' });
});

it('writes again what was refused in a batch, and reports the refusal', async () => {
  const harness = createControllerHarness();
  const { client, clock, events } = harness;
  await client.put(NODES, sketchNode('node'));
  await client.put(SERVICES, sketchService());
  await client.put(PODS, sketchPod({ name: 'one', ip: '10.0.0.1' }));
  const batch = client.batch.bind(client);
  let refused = false;
  client.batch = async (writes, signal) => {
    if (refused) return await batch(writes, signal);
    refused = true;
    const status = new StatusError('Forbidden', 'refused by a policy').toStatus();
    return writes.map(() => ({ ok: false, status }));
  };
  harness.run([createEndpointSliceController(createMeters(createMetrics()).slices)]);
  await clock.advance(5000);
  expect(addressesOf(client.all(ENDPOINT_SLICES))).toEqual(['10.0.0.1']);
  expect(events('Service').map(({ message }) => message)).toEqual([
    'Error updating Endpoint Slices for Service n/sv: ' +
      'failed to create EndpointSlice for Service n/sv: refused by a policy',
  ]);
});

it('gives zones their shares of a Service that asks for that, and says when it does not', async () => {
  const harness = createControllerHarness();
  const { client, clock, events, stop } = harness;
  const zones = async (name: string, zone: string) => {
    const { metadata } = sketchNode(name, zone);
    const status = { allocatable: { cpu: '4' }, conditions: [{ type: 'Ready', status: 'True' }] };
    await client.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata, status });
  };
  const annotations = { 'service.kubernetes.io/topology-mode': 'Auto' };
  await zones('node', 'east');
  const service = await client.put(SERVICES, sketchService({}, { annotations }));
  for (const [index, name] of ['one', 'two'].entries())
    await client.put(PODS, sketchPod({ name, ip: `10.0.0.${index}` }));
  harness.run([createEndpointSliceController(createMeters(createMetrics()).slices)]);
  await clock.advance(1000);
  const hints = () =>
    client
      .all(ENDPOINT_SLICES)
      .flatMap((slice) => (slice.endpoints ?? []).map((one) => one.hints?.forZones?.map(({ name }) => name).join()));
  expect(hints()).toEqual([undefined, undefined]);
  await zones('other', 'west');
  await clock.advance(1000);
  expect([...hints()].sort()).toEqual(['east', 'west']);
  await client.update(SERVICES, { ...service, metadata: { ...service.metadata, annotations: {} } }, stop.signal);
  await clock.advance(1000);
  expect(hints()).toEqual([undefined, undefined]);
  const refused = 'Insufficient Node information: allocatable CPU or zone not specified on one or more nodes';
  expect(events('Service').map(({ type, reason, message }) => [type, reason, message])).toEqual([
    ['Warning', 'TopologyAwareHintsDisabled', `${refused}, addressType: IPv4`],
    ['Normal', 'TopologyAwareHintsEnabled', 'Topology Aware Hints has been enabled, addressType: IPv4'],
    ['Warning', 'TopologyAwareHintsDisabled', 'Topology Aware Hints has been disabled, addressType: IPv4'],
  ]);
});
