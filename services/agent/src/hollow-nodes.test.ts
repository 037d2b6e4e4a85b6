import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { LEASES, NODES, type Pod, PODS } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { runHollowNodes } from './hollow-nodes.ts';
import { pod } from './testing/pods.ts';

const NAMES = ['n-1', 'n-2', 'n-3'];

let clock: ManualClock;
let client: FakeObjectClient;
beforeEach(async () => {
  clock = new ManualClock(Date.parse('2026-01-01T00:00:00Z'));
  client = new FakeObjectClient(clock);
  const stop = new AbortController();
  const folder = await mkdtemp(join(tmpdir(), 'hollow-nodes-'));
  const options = {
    client,
    count: 3,
    prefix: 'n',
    heartbeatMs: 10_000,
    folder,
    clock,
    random: () => 0.5,
    logger: silentLogger,
  };
  const running = runHollowNodes(options, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await running;
    await rm(folder, { recursive: true, force: true });
  });
});

/** Advances the clock until `check` returns the wanted value. */
const eventually = (check: () => unknown) =>
  expect.poll(async () => {
    await clock.advance(100);
    return check();
  });

const put = (name: string, nodeName: string, spec: Partial<Pod['spec']> = {}) => {
  const { metadata, ...object } = pod({ nodeName, ...spec }, {}, { name });
  const { uid: _uid, resourceVersion: _version, ...others } = metadata;
  return client.put(PODS, { ...object, metadata: others });
};
const phases = () => client.all(PODS).map(({ metadata, status }) => `${metadata.name} ${status?.phase ?? ''}`);
const ready = () =>
  client.all(NODES).filter(({ status }) => status?.conditions?.some((c) => c.type === 'Ready' && c.status === 'True'));

it('registers the nodes as ready, with a Lease of their own that lasts four intervals', async () => {
  await eventually(() => ready().map(({ metadata }) => metadata.name)).toEqual(NAMES);
  await eventually(() => client.all(LEASES).map(({ metadata }) => metadata.name)).toEqual(NAMES);
  expect(client.all(LEASES)[0]?.spec?.leaseDurationSeconds).toBe(40);
});

it('runs the pods of its nodes and of no others, whatever their image, volumes and probes', async () => {
  const probed = { name: 'main', image: 'example.test/none:1', livenessProbe: { exec: { command: ['false'] } } };
  await put('one', 'n-1', { containers: [probed], volumes: [{ name: 'v', configMap: { name: 'missing' } }] });
  await put('two', 'n-3');
  await put('foreign', 'real-1');
  await eventually(phases).toEqual(['one Running', 'two Running', 'foreign ']);
  const addresses = client.all(PODS).flatMap(({ status }) => status?.podIP ?? []);
  expect(new Set(addresses).size).toBe(2);
});

it('lets a deleted pod go after its end', async () => {
  await put('one', 'n-2');
  await eventually(phases).toEqual(['one Running']);
  const deletionTimestamp = new Date(clock.now()).toISOString();
  const [object] = client.all(PODS);
  const metadata = { ...object?.metadata, deletionTimestamp, deletionGracePeriodSeconds: 1 };
  await client.update(PODS, { ...object, metadata } as Pod, new AbortController().signal);
  await eventually(phases).toEqual([]);
});
