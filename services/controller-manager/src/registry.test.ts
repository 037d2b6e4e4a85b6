import type { ObjectWrite } from '@gantry/client';
import { describe, expect, it } from 'vitest';
import { createMetrics } from '@gantry/service';
import { createMeters } from './meters.ts';
import { createControllers } from './registry.ts';
import { type ControllerHarness, createControllerHarness } from './testing/controller-harness.ts';
import { createNodeRanges } from './testing/node-ranges.ts';
import { EXAMPLE_WORLD, readExample } from './testing/example-world.ts';

const AUTHORITY = { parse: async () => 'there is no request', sign: async () => '' };
const create = (metrics = createMetrics()) =>
  createControllers({
    authorities: { cluster: AUTHORITY, 'node-serving': AUTHORITY },
    signers: { firstServiceAddress: '10.96.0.1', reservedNames: [], servingApproval: 'automatic', joining: 'refused' },
    readCa: () => 'a certificate',
    nodeGraceMs: 4000,
    podCidr: '10.128.0.0/20',
    nodeRanges: createNodeRanges(),
    localPath: { storageClass: 'create' },
    readPath: readExample,
    meters: createMeters(metrics),
    maxFinishedPods: 1,
  });
/** Longer than every quarantine and grace period of the example world. */
const SETTLED_MS = 60_000;
const NAMES = create().map(({ name }) => name);

/** What a controller has written, without Leases and Events: who leads, and what was seen. */
function writesOf({ client }: ControllerHarness): readonly string[] {
  return client.writes.filter(({ resource }) => !['leases', 'events'].includes(resource.resource)).map(describeWrite);
}

function describeWrite(write: ObjectWrite): string {
  const name = write.verb === 'create' ? (write.name ?? write.object.metadata.name ?? '') : write.key.name;
  return [write.verb, write.resource.resource, name].join(' ');
}

/** A leader of one controller, or of all of them, over the same objects. */
async function lead(harness: ControllerHarness, name?: string): Promise<void> {
  harness.run(create().filter((controller) => name === undefined || controller.name === name));
  await harness.clock.advance(SETTLED_MS);
}

async function createWorld(): Promise<ControllerHarness> {
  const harness = createControllerHarness();
  for (const [resource, object] of EXAMPLE_WORLD) await harness.client.put(resource, object);
  return harness;
}

describe.each(NAMES)('the controller %s', (name) => {
  it('acts in the example world, and planning again for everything yields nothing', async () => {
    const harness = await createWorld();
    await lead(harness, name);
    const first = writesOf(harness);
    // Some only report.
    expect([...first, ...harness.events()], 'add what it acts on to testing/example-world.ts').not.toEqual([]);
    // A new leader plans for every object, without a memory of what was done.
    await lead(harness, name);
    expect(writesOf(harness).slice(first.length)).toEqual([]);
  });
});

it('all controllers together come to rest, and planning again for everything yields nothing', async () => {
  const harness = await createWorld();
  await lead(harness);
  const first = writesOf(harness);
  await lead(harness);
  expect(writesOf(harness).slice(first.length)).toEqual([]);
});

it('the gauges of a leader end with its term', async () => {
  const harness = await createWorld();
  const metrics = createMetrics();
  const shown = async () => {
    const { text } = await metrics.render();
    // Those of Node.js are the process's own.
    const gauges = [...text.matchAll(/^# TYPE (?!nodejs_|process_)(\S+) gauge$/gm)].map(([, name = '']) => name);
    return gauges.filter((name) =>
      [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].some(([, value]) => Number(value) !== 0),
    );
  };
  const none = await shown();
  harness.run(create(metrics));
  await harness.clock.advance(SETTLED_MS);
  const leading = (await shown()).filter((name) => !none.includes(name));
  expect(leading.map((name) => name.replace(/_controller_.*|_collector_.*/, ''))).toEqual(
    expect.arrayContaining(['endpoint_slice', 'horizontal_pod_autoscaler', 'node', 'node_ipam']),
  );
  harness.stop.abort();
  await harness.clock.advance(1000);
  expect((await shown()).filter((name) => leading.includes(name))).toEqual([]);
});
