/** Which agent of a host collects its images, on the test's own engine. */
import { join } from 'node:path';
import { lead, systemClock, systemRandom } from '@gantry/base';
import { LEASES } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { LeaseElection } from '../custodian/lease-election.ts';
import { startRegistry } from '../docker/testing/engine-registry.ts';
import { BUSYBOX, type EngineNode, PAUSE, startEngineNode } from '../docker/testing/engine-node.ts';
import { OwnEngine } from '../docker/testing/own-engine.ts';
import { linuxHostMeter } from '../usage/linux-host-meter.ts';
import { unsharedPulls } from './host-pulls.ts';
import { ImageCollector } from './image-collector.ts';
import { ImagePuller } from './image-puller.ts';
import { PulledImages } from './pulled-images.ts';

const { signal } = new AbortController();
const POLL = { timeout: 60_000, interval: 50 };
const LEASE = 'gantry-host-own-engine';

/** Starts the image parts of an agent on the engine's host. It campaigns to be the host's custodian. */
function campaign(engine: OwnEngine, { runtime, services, client, path }: EngineNode, name: string) {
  const { images } = runtime;
  const pulled = new PulledImages(join(path, 'images'), name);
  const clock = systemClock;
  const collector = new ImageCollector({
    ...{ highPercent: 100, lowPercent: 0, minAgeMs: 0 },
    node: name,
    images,
    pulled,
    meter: linuxHostMeter('/proc', engine.folder),
    sandboxImage: PAUSE,
    events: services.events,
    clock,
    logger: silentLogger,
  });
  const end = new AbortController();
  const renewals = { tenure: () => 1, leftMs: () => Infinity };
  const isSilent = async () => false;
  const options = { client, lease: LEASE, identity: name, renewals, isSilent, clock, logger: silentLogger };
  const election = new LeaseElection(options);
  const act = (_term: unknown, ended: AbortSignal) => collector.lead(ended);
  const running = lead({ election, act, clock, random: systemRandom, log: silentLogger }, end.signal);
  const stop = async () => {
    end.abort();
    await running;
  };
  onTestFinished(stop);
  return {
    name,
    puller: new ImagePuller({ images, records: pulled, sharing: unsharedPulls, clock }),
    collector,
    stop,
  };
}

it('one agent of a host alone removes images, also those that another one has pulled, until another one leads', async () => {
  await using engine = await OwnEngine.start({ diskMiB: 128 });
  await engine.load(BUSYBOX, PAUSE);
  const registry = await startRegistry(engine);
  await using node = await startEngineNode(engine);
  const agents = ['one', 'other'].map((name) => campaign(engine, node, name));
  const holder = () => node.client.all(LEASES)[0]?.spec?.holderIdentity ?? '';
  await expect.poll(holder, POLL).not.toBe('');
  const leader = agents.find(({ name }) => name === holder());
  const waiting = agents.find(({ name }) => name !== holder());
  const ours = async () => {
    const names = await engine.docker('images', '--format', '{{.Repository}}');
    return names.split('\n').filter((name) => name.startsWith('127.0.0.1:5000/'));
  };

  for (const agent of agents) await agent.puller.pull(await registry.publish(agent.name, 2), [], signal);
  expect(await ours()).toHaveLength(2);
  expect(await waiting?.collector.deleteUnused(signal)).toBe(0);
  expect(await ours()).toHaveLength(2);
  await expect.poll(() => leader?.collector.deleteUnused(signal), POLL).toBeGreaterThan(0);
  expect(await ours()).toEqual([]);

  await waiting?.puller.pull(await registry.publish('later', 2), [], signal);
  await leader?.stop();
  expect(await leader?.collector.deleteUnused(signal)).toBe(0);
  expect(await ours()).toEqual(['127.0.0.1:5000/later']);
  await expect.poll(() => waiting?.collector.deleteUnused(signal), POLL).toBeGreaterThan(0);
  expect(holder()).toBe(waiting?.name);
  expect(await ours()).toEqual([]);
});
