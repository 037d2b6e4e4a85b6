import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { type ControllerSpec, createFenceHolder, createManager, type ManagerOptions } from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import { type Event, EVENTS } from '@gantry/objects';
import { onTestFinished } from 'vitest';

export interface RunOptions {
  /** Aggregated API servers; none when absent. */
  readonly aggregated?: ManagerOptions['aggregated'];
  /** What others write before a write of the controllers arrives: after they have read the cache. */
  readonly meanwhile?: (write: ObjectWrite) => Promise<void>;
}

/** What a test of a controller's shell needs: a clock, the objects of an API server, and a manager that leads. */
export interface ControllerHarness {
  readonly clock: ManualClock;
  readonly client: FakeObjectClient;
  /** Aborted when the test ends. */
  readonly stop: AbortController;
  /** The Events about objects of this kind, of all kinds when absent; without the manager's own Event that it leads. */
  readonly events: (kind?: string) => readonly Event[];
  /** Runs controllers until `stop` is aborted. Objects that `client` has already are there when they start. */
  readonly run: (controllers: readonly ControllerSpec[], options?: RunOptions) => void;
}

/** A harness for the present test. */
export function createControllerHarness(): ControllerHarness {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const events: ControllerHarness['events'] = (kind) =>
    client
      .all(EVENTS)
      .filter(
        ({ reason, involvedObject }) =>
          reason !== 'LeaderElection' && involvedObject.kind === (kind ?? involvedObject.kind),
      );
  const run: ControllerHarness['run'] = (controllers, { aggregated, meanwhile = async () => undefined } = {}) => {
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
    void manager.run(stop.signal);
    void manager.lead({ electionKey: '/gantry/elections/test', epoch: 1, incarnation: 'i' }, stop.signal);
  };
  return { clock, client, stop, events, run };
}
