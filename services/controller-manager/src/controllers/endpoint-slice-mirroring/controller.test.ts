import { ENDPOINT_SLICES, ENDPOINTS, SERVICES } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { sketchService } from '../../testing/service-fixtures.ts';
import { createEndpointSliceMirroringController } from './controller.ts';

it('mirrors when both the Service and its Endpoints are there, and stops when the Service selects pods', async () => {
  const harness = createControllerHarness();
  const { client, clock, stop, events } = harness;
  await client.put(ENDPOINTS, {
    apiVersion: 'v1',
    kind: 'Endpoints',
    metadata: { name: 'sv', namespace: 'n' },
    subsets: [{ addresses: Array.from({ length: 1001 }, (_, i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })) }],
  });
  const metrics = createMetrics();
  harness.run([createEndpointSliceMirroringController(createMeters(metrics).mirrors)]);
  await clock.advance(100);
  expect(client.all(ENDPOINT_SLICES)).toEqual([]);
  const service = await client.put(SERVICES, sketchService({ selector: {} }));
  await clock.advance(100);
  expect(client.all(ENDPOINT_SLICES).map(({ endpoints = [] }) => endpoints.length)).toEqual([1000]);
  await client.put(SERVICES, sketchService({ selector: {} }, { name: 'other', uid: 'other' }));
  await clock.advance(100);
  expect(events('Endpoints').map(({ reason, count }) => [reason, count])).toEqual([['TooManyAddressesToMirror', 1]]);
  expect(client.writes.filter(({ resource }) => resource.resource === 'endpointslices')).toHaveLength(1);
  const { text } = await metrics.render();
  for (const line of [
    'changes{operation="create"} 1',
    'endpoints_added_per_sync_sum 1000',
    'addresses_skipped_per_sync_sum 2',
    'endpoints_desired 1000',
    'desired_endpoint_slices 1',
  ])
    expect(text).toContain(`endpoint_slice_mirroring_controller_${line}\n`);
  await client.update(SERVICES, { ...service, spec: { ...service.spec, selector: { app: 'a' } } }, stop.signal);
  await clock.advance(100);
  expect(client.all(ENDPOINT_SLICES)).toEqual([]);
});
