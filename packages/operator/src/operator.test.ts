import { type Clock, untilAborted } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type ConfigMap, DEPLOYMENTS, EVENTS, LEASES, SECRETS, StatusError } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Controller, createOperator, declare, type Operator, type OperatorOptions, watchSelf } from './index.ts';

/** After this, a leader has asked which versions are the newest, and listed again what its caches do not have. */
const CAUGHT_UP_MS = 100;

const configMap = (name: string): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'a' },
});

describe('an operator', () => {
  let clock: ManualClock;
  let client: FakeObjectClient;
  let stop: AbortController;
  let runs: Promise<void>[];
  let seen: string[];
  beforeEach(() => {
    clock = new ManualClock();
    client = new FakeObjectClient(clock);
    stop = new AbortController();
    runs = [];
    seen = [];
  });
  afterEach(async () => {
    stop.abort();
    await clock.advance(60_000);
    await Promise.all(runs);
  });
  const controller = (rest: Partial<Controller> = {}): Controller => ({
    name: 'c',
    watches: [watchSelf(CONFIG_MAPS)],
    reconcile: async ({ name }) => {
      seen.push(name);
      return {};
    },
    ...rest,
  });
  const create = (options: Partial<OperatorOptions> = {}): Operator => {
    const cluster = { client, namespace: 'a', [Symbol.dispose]: () => undefined };
    return createOperator({
      name: 'op',
      controllers: [controller()],
      cluster,
      clock,
      random: () => 0.5,
      logger: silentLogger,
      ...options,
    });
  };
  const run = (operator: Operator, signal = stop.signal): void => void runs.push(operator.runUntil(signal));

  it('reconciles what exists and what changes', async () => {
    await client.put(CONFIG_MAPS, configMap('old'));
    const operator = create();
    expect(operator.missing()).toEqual(['configmaps']);
    run(operator);
    await clock.advance(0);
    expect([operator.missing(), seen]).toEqual([[], ['old']]);
    await client.put(CONFIG_MAPS, configMap('new'));
    await clock.advance(0);
    expect(seen).toEqual(['old', 'new']);
  });

  it('does not run for a signal that is aborted already', async () => {
    await client.put(CONFIG_MAPS, configMap('old'));
    await create().runUntil(AbortSignal.abort());
    await clock.advance(0);
    expect(seen).toEqual([]);
  });

  it('gives reconciles a log with the object, and Events in its name', async () => {
    const lines: object[] = [];
    const log = { ...silentLogger, info: (fields: object) => lines.push(fields) };
    const logger = {
      ...log,
      child: (own: object) => ({ ...log, info: (more: object) => lines.push({ ...own, ...more }) }),
    };
    const reconcile: Controller['reconcile'] = async (key, context) => {
      const object = context.cache.get(CONFIG_MAPS, key);
      context.log.info({ n: 1 }, 'seen');
      if (object !== undefined) context.events.event(object, 'Normal', 'Seen', 'Seen it');
      return {};
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    run(create({ logger, controllers: [controller({ reconcile })] }));
    await clock.advance(1000);
    expect(lines).toContainEqual({ controller: 'c', object: 'a/one', n: 1 });
    expect(client.all(EVENTS)[0]).toMatchObject({ reason: 'Seen', source: { component: 'op' } });
  });

  it('ends running reconciles before it stops, and starts no others', async () => {
    const { promise: release, resolve: end } = Promise.withResolvers<void>();
    const reconcile: Controller['reconcile'] = async ({ name }, _context, signal) => {
      await release;
      seen.push(`${name} ${signal.aborted ? 'aborted' : 'done'}`);
      return {};
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    await client.put(CONFIG_MAPS, configMap('two'));
    let state = 'running';
    const own = new AbortController();
    const operator = create({ leaderElection: {}, controllers: [controller({ reconcile, workers: 1 })] });
    const stopped = operator.runUntil(own.signal).then(() => (state = 'stopped'));
    await clock.advance(CAUGHT_UP_MS);
    own.abort();
    await clock.advance(1000);
    expect([state, client.all(LEASES)[0]?.spec?.holderIdentity]).toEqual(['running', expect.stringContaining('_')]);
    end();
    await clock.advance(0);
    await stopped;
    expect(seen).toEqual(['one done']);
    expect(client.all(LEASES)[0]?.spec?.holderIdentity).toBe('');
  });

  /** The client of a process whose watches report nothing, so that its cache is what it listed. */
  const deaf = () =>
    createObjectClient({
      get: (...call) => client.get(...call),
      list: (...call) => client.list(...call),
      write: (...call) => client.write(...call),
      batch: (...call) => client.batch(...call),
      watch: async function* (_resource, _options, signal) {
        yield [];
        await untilAborted(signal);
      },
    });

  it('acts in one of two replicas, and in the other with fresh caches when that stops', async () => {
    const acting = (name: string) =>
      controller({
        reconcile: async (key, { cache }) => {
          seen.push(`${name} ${key.name} ${cache.get(CONFIG_MAPS, key)?.data?.['v'] ?? ''}`);
          return {};
        },
      });
    const first = new AbortController();
    run(create({ leaderElection: {}, controllers: [acting('one')] }), first.signal);
    await clock.advance(0);
    const cluster = { client: deaf(), namespace: 'a', [Symbol.dispose]: () => undefined };
    run(create({ cluster, leaderElection: {}, controllers: [acting('two')] }));
    await clock.advance(0);
    await client.put(CONFIG_MAPS, { ...configMap('x'), data: { v: '1' } });
    await clock.advance(5000);
    expect(seen).toEqual(['one x 1']);
    first.abort();
    await clock.advance(5000);
    expect(seen).toEqual(['one x 1', 'two x 1']);
  });

  it('sends its term with each write of a leader: declared, imperative, of Events, status and finalizers', async () => {
    const nothing = { read: async () => ({}), write: async () => undefined, cleanUp: async () => undefined };
    const declared = declare({
      name: 'declared',
      for: DEPLOYMENTS,
      owns: [SECRETS],
      outside: { finalizer: 'example.com/outside', ...nothing },
      desire: () => ({
        objects: [{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } }],
        status: { replicas: 1 },
      }),
    });
    const reconcile: Controller['reconcile'] = async (key, { client: own, cache, events }, signal) => {
      const object = cache.get(CONFIG_MAPS, key);
      if (object?.data !== undefined || object === undefined) return {};
      events.event(object, 'Normal', 'Seen', 'Seen it');
      await own.update(CONFIG_MAPS, { ...object, data: { seen: 'yes' } }, signal);
      return {};
    };
    run(create({ leaderElection: {}, controllers: [declared, controller({ reconcile })] }));
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [] } };
    const spec = { selector: { matchLabels: { a: 'b' } }, template };
    await client.put(CONFIG_MAPS, configMap('one'));
    await client.put(DEPLOYMENTS, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'd', namespace: 'a' },
      spec,
    });
    await clock.advance(5000);
    await client.delete(DEPLOYMENTS, { namespace: 'a', name: 'd' }, {}, stop.signal);
    client.writes.pop();
    await clock.advance(5000);
    const [lease] = client.all(LEASES);
    const fence = {
      namespace: 'a',
      name: 'op',
      uid: lease?.metadata.uid,
      holder: lease?.spec?.holderIdentity,
      transitions: 0,
    };
    const own = client.writes.filter(({ resource }) => resource.resource !== LEASES.resource);
    expect(new Set(own.map(({ resource }) => resource.resource))).toEqual(
      new Set(['deployments', 'secrets', 'configmaps', 'events']),
    );
    expect(own.filter((write) => write.fence === undefined)).toEqual([]);
    expect(new Set(own.map((write) => JSON.stringify(write.fence)))).toEqual(new Set([JSON.stringify(fence)]));
    expect(client.all(DEPLOYMENTS), 'its finalizer was removed').toEqual([]);
  });

  it('sends no write after a pause in which its Lease ran out, before its timers have run', async () => {
    let pausedMs = 0;
    const paused: Clock = {
      now: () => clock.now() + pausedMs,
      monotonicMs: () => clock.monotonicMs() + pausedMs,
      setTimer: (delayMs, onTime) => clock.setTimer(delayMs, onTime),
    };
    const reconcile: Controller['reconcile'] = async (key, { client: own }, signal) => {
      const label = own.patch(CONFIG_MAPS, key, { merge: { metadata: { labels: { seen: 'true' } } } }, signal);
      seen.push(
        await label.then(
          () => 'written',
          (error: unknown) => String(error),
        ),
      );
      return {};
    };
    run(create({ clock: paused, leaderElection: {}, controllers: [controller({ reconcile })] }));
    await client.put(CONFIG_MAPS, configMap('one'));
    await clock.advance(CAUGHT_UP_MS);
    expect(new Set(seen)).toEqual(new Set(['written']));
    seen.length = 0;
    pausedMs = 10_000;
    await client.put(CONFIG_MAPS, configMap('two'));
    await clock.advance(0);
    const message = 'this process does not hold the Lease a/op any more: nothing was written';
    expect(seen).toEqual([`NotLeadingError: ${message}`]);
    expect(client.all(CONFIG_MAPS)[1]?.metadata.labels).toBeUndefined();
  });

  it.each([
    ['one that acts at once', undefined],
    ['a leader', {}],
  ])('ends, as %s, with the names of the caches that are not complete in time', async (_, leaderElection) => {
    const inner = deaf();
    const list: typeof inner.list = async (resource, ...rest) => {
      if (resource.resource === 'secrets') throw new StatusError('Forbidden', 'secrets is forbidden');
      return await inner.list(resource, ...rest);
    };
    const forbidden = createObjectClient({
      get: (...call) => inner.get(...call),
      list,
      watch: (...call) => inner.watch(...call),
      write: (...call) => inner.write(...call),
      batch: (...call) => inner.batch(...call),
    });
    const cluster = { client: forbidden, namespace: 'a', [Symbol.dispose]: () => undefined };
    const watches = [watchSelf(CONFIG_MAPS), watchSelf(SECRETS)];
    const options = leaderElection === undefined ? {} : { leaderElection };
    const operator = create({
      cluster,
      controllers: [controller({ watches })],
      cacheSyncTimeoutMs: 60_000,
      ...options,
    });
    let state = 'running';
    const ended = operator.runUntil(stop.signal).catch((error: unknown) => (state = String(error)));
    await clock.advance(59_000);
    expect(state).toBe('running');
    await clock.advance(10_000);
    await ended;
    expect(state).toBe('CacheSyncError: caches are not complete after 60 s: secrets');
    const leases = client.all(LEASES).map(({ spec }) => spec?.holderIdentity);
    expect(leases).toEqual(leaderElection === undefined ? [] : ['']);
  });

  it('limits the rate of reconciles', async () => {
    const limited = controller({ rateLimit: { perSecond: 1, burst: 2 }, workers: 10 });
    for (const name of ['1', '2', '3', '4', '5']) await client.put(CONFIG_MAPS, configMap(name));
    run(create({ controllers: [limited] }));
    await clock.advance(0);
    expect(seen).toHaveLength(2);
    await clock.advance(2000);
    expect(seen).toHaveLength(4);
  });

  it('reports metrics in the names of controller-runtime', async () => {
    await client.put(CONFIG_MAPS, configMap('one'));
    const operator = create({ leaderElection: { name: 'lease' } });
    run(operator);
    await clock.advance(CAUGHT_UP_MS);
    const text = await operator.metrics();
    expect(text).toContain('controller_runtime_reconcile_total{controller="c",result="success"} 1');
    expect(text).toContain('controller_runtime_max_concurrent_reconciles{controller="c"} 5');
    expect(text).toContain('controller_runtime_active_workers{controller="c"} 0');
    expect(text).toContain('leader_election_master_status{name="lease"} 1');
    expect(text).toContain('workqueue_adds_total{name="c"} 1');
  });

  it('fails with the error of a watch that throws', async () => {
    const broken = {
      ...watchSelf(CONFIG_MAPS),
      keys: () => {
        throw new TypeError('broken watch');
      },
    };
    await client.put(CONFIG_MAPS, configMap('one'));
    const ended = create({ controllers: [controller({ watches: [broken] })] }).runUntil(stop.signal);
    const failed = expect(ended).rejects.toThrow('broken watch');
    await clock.advance(0);
    await failed;
  });

  it('refuses options that cannot be used, and names the field', () => {
    expect(() => create({ name: 'No Name' })).toThrow('name: "No Name": a lowercase RFC 1123 subdomain');
    expect(() => create({ name: 'a'.repeat(129) })).toThrow('must be no more than 128 characters');
    expect(() => create({ cacheSyncTimeoutMs: 0 })).toThrow('cacheSyncTimeoutMs: must be more than 0');
    expect(() => create({ controllers: [] })).toThrow('controllers: there is none');
    expect(() => create({ controllers: [controller(), controller()] })).toThrow('controllers[c]: two have this name');
    expect(() => create({ controllers: [controller({ watches: [] })] })).toThrow(
      'controllers[c].watches: there is none',
    );
    expect(() => create({ controllers: [controller({ workers: 0 })] })).toThrow(
      'controllers[c].workers: must be a positive',
    );
    expect(() => create({ leaderElection: { retryMs: 60_000 } })).toThrow('retryMs: must be between 0 and renewMs');
    const rateLimit = { perSecond: 0, burst: 1 };
    expect(() => create({ controllers: [controller({ rateLimit })] })).toThrow('controllers[c].rateLimit.perSecond');
  });
});
