import { errorMessage, withDeadline } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import type { ControllerContext } from '@gantry/controller-runtime';
import { type Lease, LEASES, type Node } from '@gantry/objects';
import { type ApiView, LEASE_NAMESPACE, UnverifiedError, VERIFY_MS } from './api-view.shell.ts';
import type { Heartbeats } from './heartbeats.ts';
import { type Periods, stageOf } from './periods.ts';

/** The heartbeats of all nodes, and whether they could be observed. */
export interface Watched {
  readonly periods: Periods;
  readonly view: ApiView;
}

/**
 * How long a quiet node may stay quiet. Only time in which its heartbeat could have been observed counts. Before the node counts as silent,
 * its Lease is read from the store.
 */
export async function lookCloser(
  { periods, view }: Watched,
  heartbeats: Heartbeats,
  node: Node,
  context: ControllerContext,
  signal: AbortSignal,
): Promise<number> {
  const name = node.metadata.name ?? '';
  const works = (await view.confirm(heartbeats, context, signal)) === 'works';
  const leftMs = heartbeats.leftMs(name, context.clock.monotonicMs());
  if (!works) return Math.max(1, leftMs);
  return leftMs > 0 ? leftMs : await verifySilence(periods, node, context, signal);
}

/** A text that changes with every heartbeat: the Lease's renewal, or the status that the agent writes. */
export function markOf(node: Node, lease: Lease | undefined): string {
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return `${lease?.spec?.renewTime ?? ''} ${stageOf(node)} ${ready?.lastHeartbeatTime ?? ''}`;
}

/** Reads the Lease from the store before a node counts as lost. */
async function verifySilence(
  periods: Periods,
  node: Node,
  { client, clock }: ControllerContext,
  signal: AbortSignal,
): Promise<number> {
  const name = node.metadata.name ?? '';
  using deadline = withDeadline(clock, signal, VERIFY_MS);
  const reading = ignoreNotFound(client.get(LEASES, { namespace: LEASE_NAMESPACE, name }, deadline));
  const stored = await reading.catch((error: unknown) => {
    signal.throwIfAborted();
    periods.interrupted();
    throw new UnverifiedError(`the heartbeat of ${name} could not be verified: ${errorMessage(error)}`);
  });
  const lease = periods.lastLease(name, stored);
  return periods.of(node, lease).note(name, markOf(node, lease), clock.monotonicMs());
}
