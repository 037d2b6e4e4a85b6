import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { expect, onTestFinished } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { type HollowBehaviour, type HollowOptions, HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { Node } from '@gantry/objects';
import type { NodePressure } from '../spec/node-pressure.ts';
import { type AssembledNode, assembleNode, type NodeHost } from './assemble-node.ts';
import { ENGINE, nodeOf } from './pods.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
export const OWNER = { cluster: 'c', node: 'n' };

/** The changes that a test makes to its node. */
export interface NodeOptions {
  /** Wraps the agent's runtime. */
  readonly wrap?: (runtime: HollowRuntime) => Runtime;
  readonly mounts?: HostMounts;
  readonly wrapClient?: (client: FakeObjectClient) => ObjectClient;
  /** The previous node. Its agent is started again beside the previous one's remains. */
  readonly world?: TestNode;
  readonly behaviour?: Partial<HollowBehaviour>;
  /** The Node that the agent knows. The API may have a newer one. */
  readonly node?: () => Node;
  /** The pressures of the node. */
  readonly pressures?: () => readonly NodePressure[];
  readonly fence?: NodeHost['fence'];
  readonly tenure?: NodeHost['tenure'];
  /** The images that can be pulled. */
  readonly registry?: HollowOptions['registry'];
}

/** A node with simulated containers, and its operations for tests. */
export interface TestNode extends AssembledNode {
  readonly clock: ManualClock;
  readonly hollow: HollowRuntime;
}

/** Starts a node with simulated containers, and its view of an API server. It ends with the test. */
export async function startNode(options: NodeOptions = {}): Promise<TestNode> {
  const {
    wrap = (runtime) => runtime,
    wrapClient = (client) => client,
    behaviour = {},
    registry = {},
    world,
  } = options;
  const clock = world?.clock ?? new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  const api = world?.client ?? new FakeObjectClient(clock);
  const path = world?.path ?? (await mkdtemp(join(tmpdir(), 'pod-worker-')));
  const images = { pause: IMAGE, 'nginx:1.27': IMAGE };
  const hollow = world?.hollow ?? new HollowRuntime({ clock, images, behaviour, registry });
  // A worker that was told to stop may still write its last file.
  onTestFinished(() => rm(path, { recursive: true, force: true, maxRetries: 10 }));
  const node = assembleNode({
    owner: OWNER,
    clock,
    api,
    client: wrapClient(api),
    runtime: wrap(hollow),
    observer: hollow.observer,
    mounts: world?.mounts ?? options.mounts ?? hollowMounts(),
    path,
    root: path,
    node: () => options.node?.() ?? nodeOf(OWNER.node),
    engine: ENGINE,
    privilege: 'full',
    sandboxImage: 'pause',
    podNetwork: 'pods',
    podCidr: '10.1.0.0/24',
    parallelCalls: 1,
    pressures: () => options.pressures?.() ?? [],
    fence: options.fence,
    tenure: options.tenure,
  });
  return { ...node, clock, hollow };
}

/** Polls a reading while a little time passes, because the node also works on real files. */
export function soon(node: Pick<TestNode, 'clock'>, read: () => unknown): ReturnType<typeof expect.poll> {
  return expect.poll(
    async () => {
      await node.clock.advance(1);
      return await read();
    },
    { interval: 1 },
  );
}
