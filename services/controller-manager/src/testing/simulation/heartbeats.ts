import { formatMicroTime, formatTime } from '@gantry/base';
import type { ManualClock } from '@gantry/base/testing';
import { ignoreReasons, type ObjectClient } from '@gantry/client';
import { LEASES, type Lease, type Node, NODES } from '@gantry/objects';
import type { Activity } from '@gantry/controller-runtime/testing';
import { isReady } from './readiness.ts';
import type { World } from './world.ts';

const HEARTBEAT_MS = 10_000;

interface HeartbeatOptions {
  readonly client: ObjectClient;
  readonly world: World;
  readonly clock: ManualClock;
  readonly activity: Activity;
  readonly signal: AbortSignal;
}

/** Registers a node, and sends its heartbeats while it is not lost. */
export async function registerNode(options: HeartbeatOptions, name: string, isLost: () => boolean): Promise<void> {
  const labels = { 'kubernetes.io/hostname': name, disk: name === 'node-a' ? 'fast' : 'slow' };
  const node: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels }, spec: {} };
  await options.client.create(NODES, node, options.signal);
  await beat(options, name, isLost);
}

async function beat(options: HeartbeatOptions, name: string, isLost: () => boolean): Promise<void> {
  const { client, clock, signal, world } = options;
  const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime: formatMicroTime(clock.now()) };
  const metadata = { namespace: 'kube-node-lease', name };
  const lease: Lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec };
  clock.setTimer(HEARTBEAT_MS, () => {
    if (!signal.aborted) void options.activity.of(() => beat(options, name, isLost));
  });
  if (isLost()) return;
  if (world.get(LEASES, 'kube-node-lease', name) === undefined) await client.create(LEASES, lease, signal);
  else await client.patch(LEASES, metadata, { merge: { spec } }, signal);
  if (isReady(world.get(NODES, '', name))) return;
  const time = formatTime(clock.now());
  const condition = { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: time };
  const status = { status: { conditions: [{ ...condition, lastHeartbeatTime: time }] } };
  const patched = client.patch(NODES, { namespace: '', name }, { strategic: status, subresource: 'status' }, signal);
  await ignoreReasons(patched, ['NotFound']);
}
