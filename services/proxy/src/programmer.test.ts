import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { ChangeLoop } from '@gantry/controller-runtime';
import { ENDPOINT_SLICES, type KubeObject, NODES, type Resource, SERVICES } from '@gantry/objects';
import { createMetrics, silentLogger } from '@gantry/service';
import { expect, onTestFinished, test } from 'vitest';
import { ClusterView } from './cluster-view.ts';
import { Programmer } from './programmer.ts';
import { RuleBook } from './rules/rule-book.ts';
import type { FlowTargets } from './rules/stale-flows.ts';
import { endpoint, service, slice, topology } from './testing/services.ts';

/**
 * Starts a programmer whose transactions are recorded. `refuse` makes the next transaction fail. Policies need `waiting` rounds more than
 * one. The policies that are known at first are processed when `known` resolves. `listing` returns the kernel's sets.
 */
function start(waiting = 0, known = Promise.resolve(), listing = () => '') {
  const clock = new ManualClock();
  const book = new RuleBook();
  const view = new ClusterView(book, topology(), undefined);
  const transactions: string[] = [];
  const flows: FlowTargets[] = [];
  const kept: string[][] = [];
  /** Whether each round of policies was complete. */
  const rounds: boolean[] = [];
  let isRefusing = false;
  const metrics = createMetrics();
  const loop = new ChangeLoop({ name: 'rules', shown: [SERVICES, ENDPOINT_SLICES], clock });
  const programmer = new Programmer({
    loop,
    table: 't',
    skeleton: '  chain a { }\n',
    view,
    policies: {
      catchUp: () => known.then(() => waiting === 0),
      synchronize: () => {
        rounds.push(rounds.length >= waiting);
        return Promise.resolve(rounds.length > waiting);
      },
    },
    book,
    nft: {
      listSets: () => Promise.resolve(listing()),
      apply: async (commands) => {
        if (isRefusing) {
          isRefusing = false;
          throw new Error('refused');
        }
        transactions.push(commands);
        await Promise.resolve();
      },
    },
    cleanFlows: (targets) => flows.push(targets),
    keepHost: ({ addresses }) => kept.push([...addresses]),
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    metrics: {
      seconds: metrics.histogram('seconds', 'seconds', ['kind']),
      failures: metrics.counter('failures', 'failures'),
      latency: metrics.histogram('latency', 'latency'),
    },
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const take = (resource: Resource, object: KubeObject | undefined, old?: KubeObject) => {
    for (const one of [loop, view]) one.take({ kind: 'changed', resource, changes: [{ object, old }] });
    programmer.notify();
  };
  const run = () => void programmer.run(stop.signal);
  return { clock, programmer, loop, transactions, flows, kept, rounds, take, run, refuse: () => (isRefusing = true) };
}

/** Runs everything that is ready. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

test('the first transaction is the whole table, later ones are changes; chains that are gone are deleted a second later', async () => {
  const { clock, programmer, transactions, take, run } = start();
  const web = slice([endpoint('10.128.4.1')]);
  take(SERVICES, service());
  take(ENDPOINT_SLICES, web);
  expect(programmer.isProgrammed).toBe(false);
  run();
  await settle();
  expect(programmer.isProgrammed).toBe(true);
  expect(transactions[0]).toMatch(/^add table ip t\ndelete table ip t\ntable ip t \{/);
  expect(transactions[0]).toContain(': 10.128.4.1 . 8080');

  take(ENDPOINT_SLICES, undefined, web);
  await settle();
  expect(transactions[1]).toContain('flush chain ip t draw/1');
  expect(transactions[1]).not.toContain('delete chain');
  await clock.advance(1000);
  await settle();
  expect(transactions.slice(2)).toEqual(['delete chain ip t draw/1\n']);
});

test('the first table is written when the policies that were known are worked off', async () => {
  const known = Promise.withResolvers<void>();
  const { programmer, transactions, run } = start(0, known.promise);
  run();
  await settle();
  expect(transactions).toEqual([]);
  expect(programmer.isProgrammed).toBe(false);
  known.resolve();
  await settle();
  expect(transactions).toHaveLength(1);
  expect(programmer.isProgrammed).toBe(true);
});

test('policies that wait for another round have it at once', async () => {
  const { clock, rounds, run } = start(2);
  run();
  await settle();
  expect(rounds).toEqual([false, false, true]);
  await clock.advance(10_000);
  await settle();
  expect(rounds).toHaveLength(3);
});

test('a chain that is wanted again is not deleted', async () => {
  const { clock, transactions, take, run } = start();
  const web = slice([endpoint('10.128.4.1')]);
  take(SERVICES, service());
  take(ENDPOINT_SLICES, web);
  run();
  await settle();
  take(ENDPOINT_SLICES, undefined, web);
  await settle();
  take(ENDPOINT_SLICES, web);
  await settle();
  await clock.advance(1000);
  await settle();
  expect(transactions).toHaveLength(3);
});

test('after a refusal the whole table is written', async () => {
  const { clock, transactions, take, run, refuse } = start();
  take(SERVICES, service());
  run();
  await settle();
  refuse();
  take(ENDPOINT_SLICES, slice([endpoint('10.128.4.1')]));
  await settle();
  expect(transactions).toHaveLength(1);
  await clock.advance(10_000);
  await settle();
  expect(transactions[1]).toMatch(/^add table ip t\ndelete table ip t\n/);
  expect(transactions[1]).toContain(': 10.128.4.1 . 8080');
});

test('flows of UDP are looked at after their rules have changed', async () => {
  const { flows, take, run } = start();
  take(SERVICES, service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }));
  run();
  await settle();
  expect(flows.map((targets) => [...targets])).toEqual([[['udp 10.96.0.10:53', new Set()]]]);
});

test('flows of UDP are looked at after a refused transaction has been repeated', async () => {
  const { clock, flows, take, run, refuse } = start();
  refuse();
  take(SERVICES, service({ ports: [{ name: 'dns', port: 53, protocol: 'UDP' }] }));
  run();
  await settle();
  expect(flows).toEqual([]);
  await clock.advance(10_000);
  await settle();
  expect(flows.map((targets) => [...targets.keys()])).toEqual([['udp 10.96.0.10:53']]);
});

test("the host's addresses are kept after their rules are in the kernel, also where these were refused at first", async () => {
  const { clock, kept, take, run, refuse } = start();
  refuse();
  const addresses = [{ type: 'InternalIP', address: '10.128.12.3' }];
  take(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'a' }, status: { addresses } } as KubeObject);
  run();
  await settle();
  expect(kept).toEqual([]);
  await clock.advance(10_000);
  await settle();
  expect(kept).toEqual([['10.128.12.3']]);
});

test('a replacement keeps the clients with affinity; without such Services the sets of the kernel are not read', async () => {
  const set = 'clients-10800/default/web/tcp/http/10.128.4.1/8080';
  let reads = 0;
  const { clock, transactions, take, run, programmer, refuse } = start(0, undefined, () => {
    reads++;
    return `table ip t {\n\tset ${set} {\n\t\telements = { 10.128.4.7 expires 5s }\n\t}\n}\n`;
  });
  take(SERVICES, service());
  take(ENDPOINT_SLICES, slice([endpoint('10.128.4.1')]));
  run();
  await settle();
  expect([transactions.length, reads]).toEqual([1, 0]);
  take(SERVICES, service({ sessionAffinity: 'ClientIP' }));
  await settle();
  expect(reads).toBe(0);
  programmer.replaceAll();
  await settle();
  expect(reads).toBe(1);
  expect(transactions.at(-1)).toMatch(/^add table ip t\n/);
  expect(transactions.at(-1)).toContain(`add element ip t ${set} { 10.128.4.7 expires 5s }\n`);

  // Rules are more important: clients that the kernel refuses are omitted.
  refuse();
  programmer.replaceAll();
  await settle();
  await clock.advance(1000);
  await settle();
  expect(transactions).toHaveLength(4);
  expect(transactions.at(-1)).toMatch(/^add table ip t\n/);
  expect(transactions.at(-1)).not.toContain('expires');
});

test('each transaction is a decision with its objects; a refused one has the reason, and its changes wait', async () => {
  const { clock, loop, take, run, refuse } = start();
  take(SERVICES, service());
  run();
  await settle();
  take(ENDPOINT_SLICES, slice([endpoint('10.128.4.1')]));
  refuse();
  await settle();
  const { queue, reconciles, decisions } = loop.state();
  expect([queue.depth, queue.retries, reconciles.failed]).toEqual([1, 1, 1]);
  expect(decisions).toMatchObject([
    { key: { kind: 'EndpointSlice' }, result: 'failed', error: 'refused' },
    { key: { kind: 'Service' }, events: [{ reason: 'ServiceCreated', message: expect.stringMatching(/whole table/) }] },
  ]);
  await clock.advance(10_000);
  await settle();
  expect(loop.state()).toMatchObject({
    queue: { depth: 0 },
    decisions: [
      { key: { kind: 'EndpointSlice' }, result: 'done', events: [{ reason: 'EndpointSliceCreated' }] },
      {},
      {},
    ],
  });
  await clock.advance(1000);
  await settle();
  // A round without a transaction decides nothing.
  expect(loop.state().decisions).toHaveLength(3);
});
