import type { ObjectWrite } from '@gantry/client';
import type { ControllerSpec } from '@gantry/controller-runtime';
import { createMetrics } from '@gantry/service';
import { createMeters } from '../metrics/meters.ts';
import { createControllers } from '../registry.ts';
import type { ControllerHarness } from './controller-harness.ts';
import { readExample } from './example-world.ts';
import { createNodeRanges } from './node-ranges.ts';

const AUTHORITY = { parse: async () => 'there is no request', sign: async () => '' };

/** All controllers, with settings for the example world. */
export const exampleControllers = (metrics = createMetrics()): readonly ControllerSpec[] =>
  createControllers({
    authorities: { cluster: AUTHORITY, 'node-serving': AUTHORITY },
    signers: {
      firstServiceAddress: '10.96.0.1',
      podCidr: '10.128.0.0/20',
      reservedNames: [],
      servingApproval: 'automatic',
      joining: 'refused',
    },
    readCa: () => 'a certificate',
    nodeGraceMs: 4000,
    podCidr: '10.128.0.0/20',
    nodeRanges: createNodeRanges(),
    localPath: { storageClass: 'create' },
    readPath: readExample,
    meters: createMeters(metrics),
    maxFinishedPods: 1,
  });

/** Longer than all quarantine and grace periods of the example world. */
export const SETTLED_MS = 60_000;

/** The writes of a controller, without Leases and Events of leadership and observation. */
export function writesOf({ client }: ControllerHarness): readonly string[] {
  return client.writes.filter(({ resource }) => !['leases', 'events'].includes(resource.resource)).map(describeWrite);
}

function describeWrite(write: ObjectWrite): string {
  const name = write.verb === 'create' ? (write.name ?? write.object.metadata.name ?? '') : write.key.name;
  return [write.verb, write.resource.resource, name].join(' ');
}

/** Runs one controller, or all of them, as the leader until it has settled. */
export async function lead(harness: ControllerHarness, name?: string, forMs = SETTLED_MS): Promise<void> {
  const term = new AbortController();
  const controllers = exampleControllers().filter((controller) => name === undefined || controller.name === name);
  harness.run(controllers, { signal: term.signal });
  await harness.clock.advance(forMs);
  term.abort();
  await harness.clock.advance(0);
}
