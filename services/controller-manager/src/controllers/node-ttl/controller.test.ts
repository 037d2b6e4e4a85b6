import { NODE_TTL_ANNOTATION, NODES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { sketchNode } from '../../testing/service-fixtures.ts';
import { createNodeTtlController } from './controller.ts';

it('annotates nodes, all of them again when the cluster outgrows a size, and leaves other annotations', async () => {
  const { client, clock, run } = createControllerHarness();
  const first = sketchNode('first');
  await client.put(NODES, { ...first, metadata: { ...first.metadata, annotations: { other: 'x' } } });
  run([createNodeTtlController()]);
  await clock.advance(100);
  const ttls = () => client.all(NODES).map(({ metadata }) => metadata.annotations?.[NODE_TTL_ANNOTATION]);
  expect(client.all(NODES)[0]?.metadata.annotations).toEqual({ other: 'x', [NODE_TTL_ANNOTATION]: '0' });
  for (let i = 0; i < 100; i++) await client.put(NODES, sketchNode(`node-${i}`));
  await clock.advance(100);
  expect(new Set(ttls())).toEqual(new Set(['15']));
  const writes = client.writes.length;
  await clock.advance(600_000);
  expect(client.writes.slice(writes).filter(({ resource }) => resource.resource === 'nodes')).toEqual([]);
});
