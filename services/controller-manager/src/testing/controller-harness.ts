import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectClient, type ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import {
  type ControllerSpec,
  createFenceHolder,
  createManager,
  type ManagerOptions,
  type ReconcileReport,
} from '@gantry/controller-runtime';
import { silentLog } from '@gantry/controller-runtime/testing';
import { type Event, EVENTS } from '@gantry/objects';
import { onTestFinished } from 'vitest';

export interface RunOptions {
  /** Aggregated API servers; none when absent. */
  readonly aggregated?: ManagerOptions['aggregated'];
  /** Simulates writes of others before a controller's write arrives, after it has read the cache. */
  readonly meanwhile?: (write: ObjectWrite) => Promise<void>;
  /** Awaited before each request of the controllers, to simulate an API that does not respond. */
  readonly reach?: Reach;
  /** Called after each reconcile. */
  readonly onReconcile?: (report: ReconcileReport) => void;
  /** Ends these controllers before the test ends. */
  readonly signal?: AbortSignal;
}

type Reach = (signal: AbortSignal, call: { readonly verb: string; readonly resource?: string }) => Promise<void>;

/** The environment of a controller test: a clock, an API server's objects, and a leading manager. */
export interface ControllerHarness {
  readonly clock: ManualClock;
  readonly client: FakeObjectClient;
  /** Aborted when the test ends. */
  readonly stop: AbortController;
  /** Events about objects of this kind, of all kinds when absent, without the manager's own Event about its leadership. */
  readonly events: (kind?: string) => readonly Event[];
  /**
   * Runs controllers until `stop` is aborted. Objects already in `client` exist when they start. The test fails if the controllers end
   * earlier, for example because a watch throws.
   */
  readonly run: (controllers: readonly ControllerSpec[], options?: RunOptions) => void;
}

/** Creates a harness for the current test. */
export function createControllerHarness(): ControllerHarness {
  const clock = new ManualClock();
  const client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const failures: unknown[] = [];
  /** Fails the test with the error that ends the manager, such as a watch that throws. */
  const watched = (work: Promise<void>) =>
    void work.catch((error: unknown) => {
      if (!stop.signal.aborted) failures.push(error);
    });
  onTestFinished(async () => {
    // A manager that is already ending must not be mistaken for one that ends with the test.
    await new Promise((resolve) => setImmediate(resolve));
    stop.abort();
    if (failures.length > 0) throw new AggregateError(failures, 'the controllers ended');
  });
  const events: ControllerHarness['events'] = (kind) =>
    client
      .all(EVENTS)
      .filter(
        ({ reason, involvedObject }) =>
          reason !== 'LeaderElection' && involvedObject.kind === (kind ?? involvedObject.kind),
      );
  const run: ControllerHarness['run'] = (controllers, options = {}) => {
    const { aggregated, meanwhile = async () => undefined, reach, onReconcile } = options;
    const signal = options.signal === undefined ? stop.signal : AbortSignal.any([stop.signal, options.signal]);
    const overtaken = createOvertakenClient(client, meanwhile);
    const manager = createManager({
      client: reach === undefined ? overtaken : createReachedClient(overtaken, reach),
      ...(aggregated === undefined ? {} : { aggregated }),
      ...(onReconcile === undefined ? {} : { onReconcile }),
      fences: createFenceHolder(),
      component: 'kube-controller-manager',
      identity: 'test',
      controllers,
      clock,
      random: seededRandom(1),
      log: silentLog,
    });
    watched(manager.run(signal));
    watched(manager.leader.lead({ electionKey: '/gantry/elections/test', epoch: 1, incarnation: 'i' }, signal));
  };
  return { clock, client, stop, events, run };
}

/** Awaits `reach` before each request. */
function createReachedClient(client: ObjectClient, reach: Reach): ObjectClient {
  return createObjectClient({
    get: async (of, key, signal) => {
      await reach(signal, { verb: 'get', resource: of.resource });
      return client.get(of, key, signal);
    },
    list: async (of, options, signal) => {
      await reach(signal, { verb: 'list', resource: of.resource });
      return client.list(of, options, signal);
    },
    watch: (of, options, signal) => client.watch(of, options, signal),
    write: async (write, signal) => {
      await reach(signal, { verb: write.verb, resource: write.resource.resource });
      return client.write(write, signal);
    },
    batch: async (writes, signal) => {
      await reach(signal, { verb: 'batch' });
      return client.batch(writes, signal);
    },
  });
}
