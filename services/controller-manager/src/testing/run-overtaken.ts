import type { ObjectWrite } from '@gantry/client';
import { createOvertakenClient, type FakeObjectClient } from '@gantry/client/testing';
import { type ControllerSpec, createFenceHolder, createManager, type ManagerOptions } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import type { Clock } from '@gantry/base';

export interface OvertakenOptions {
  readonly controllers: readonly ControllerSpec[];
  readonly client: FakeObjectClient;
  readonly clock: Clock;
  /** What other servers serve; nothing when absent. */
  readonly aggregated?: ManagerOptions['aggregated'];
  /** What others do before a write of the controllers arrives: after the look at the cache that it follows from. */
  readonly meanwhile: (write: ObjectWrite) => Promise<void>;
}

/** Runs controllers whose every write others may overtake, until the signal is aborted. */
export function runOvertaken(options: OvertakenOptions, signal: AbortSignal): void {
  const { client, clock, controllers, aggregated, meanwhile } = options;
  const manager = createManager({
    client: createOvertakenClient(client, meanwhile),
    ...(aggregated === undefined ? {} : { aggregated }),
    fences: createFenceHolder(),
    component: 'kube-controller-manager',
    identity: 'test',
    controllers,
    clock,
    random: () => 0.5,
    log: silentLog,
  });
  void manager.run(signal);
  void manager.lead({ electionKey: '/gantry/elections/test', epoch: 1, incarnation: 'i' }, signal);
}
