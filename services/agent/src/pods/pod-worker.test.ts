import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@gantry/base/testing';
import { type FakeCall, FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, PODS, StatusError } from '@gantry/objects';
import { createLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { hollowMounts } from '../hollow/hollow-mounts.ts';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { apiConfigSource } from '../sources/api-config-source.ts';
import { PodSource } from '../sources/pod-source.ts';
import { apiClaimSource } from '../sources/api-claim-source.ts';
import { TokenSource } from '../sources/token-source.ts';
import { StatusReporter } from '../status/status-reporter.ts';
import { container, ENGINE, pod } from '../testing/pods.ts';
import { PersistentFolders } from '../volumes/persistent-folders.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { AddressPool } from './address-pool.ts';
import { FreshnessGate } from './freshness-gate.ts';
import { PodWorker } from './pod-worker.ts';
import { Slots } from './slots.ts';
import type { WorkerServices } from './worker-services.ts';

const IMAGE = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
const OWNER = { cluster: 'c', node: 'n' };

/** The services of a node whose containers are simulated, and its view of an API server. */
async function startNode() {
  const clock = new ManualClock();
  const random = () => 0.5;
  const client = new FakeObjectClient(clock);
  const logger = createLogger({ service: 'agent', level: 'fatal' });
  const stop = new AbortController();
  const path = await mkdtemp(join(tmpdir(), 'pod-worker-'));
  const hollow = new HollowRuntime({ clock, images: { pause: IMAGE, 'nginx:1.27': IMAGE } });
  const created: string[] = [];
  const observed = new Map<string, readonly string[]>();
  const createSandbox: Runtime['sandboxes']['createSandbox'] = (spec, signal) => {
    created.push(spec.pod.uid);
    return hollow.sandboxes.createSandbox(spec, signal);
  };
  const runtime: Runtime = { ...hollow, sandboxes: { ...hollow.sandboxes, createSandbox } };
  const pods = new PodSource({ client, node: OWNER.node, clock, random, logger });
  const following = pods.run(stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await following;
    await rm(path, { recursive: true, force: true });
  });
  const facts = { nodeName: OWNER.node, hostAddress: '10.0.0.1', cpus: 2, memoryBytes: 1e9 };
  const source = apiConfigSource(client);
  const state = { path, hostPath: path };
  const services: WorkerServices = {
    mode: 'run',
    owner: OWNER,
    facts,
    engine: ENGINE,
    privilege: 'full',
    podNetwork: 'pods',
    sandboxImage: 'pause',
    baseEnvironment: {},
    runtime,
    client,
    pods,
    gate: new FreshnessGate(clock, (signal) => pods.confirm(signal)),
    reporter: new StatusReporter({ client, pods, clock, logger }),
    usage: {
      observe: (uid, state) =>
        observed.set(
          uid,
          (state?.containers ?? []).map(({ name }) => name),
        ),
    },
    volumes: new PodVolumes({
      state,
      mounts: hollowMounts(),
      source,
      tokens: new TokenSource(client, clock),
      persistent: new PersistentFolders({ folder: `${state.path}/volumes`, node: 'n', source: apiClaimSource(client) }),
      facts,
      clock,
    }),
    config: source,
    addresses: new AddressPool('10.1.0.0/24', clock, random),
    events: { event: () => undefined },
    starts: new Slots(1),
    clock,
    random,
    logger,
  };
  return { clock, client, pods, created, runtime, services, stop };
}

it('acts for no pod that is gone though its watch does not say so: it looks again after the gate', async () => {
  const { clock, client, pods, created, runtime, services, stop } = await startNode();
  const put = async (name: string) => {
    const volumes = [{ name: 'v', configMap: { name: `of-${name}` } }];
    const { metadata, ...rest } = pod({ nodeName: OWNER.node, containers: [container()], volumes });
    const config = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: metadata.namespace, name: `of-${name}` },
    };
    await client.put(CONFIG_MAPS, config);
    const { uid: _uid, ...others } = metadata;
    return await client.put(PODS, { ...rest, metadata: { ...others, name } });
  };
  const [gone, lives] = [await put('gone'), await put('lives')];
  await clock.advance(10);
  client.failNext(({ verb }) => verb === 'watch', StatusError.unavailable('down'), Number.POSITIVE_INFINITY);
  client.breakWatches();
  await clock.advance(10);
  await client.delete(PODS, { namespace: gone.metadata.namespace ?? '', name: 'gone' }, {}, stop.signal);
  expect(pods.get(gone.metadata.uid ?? '')).toBeDefined();
  const mounted = new Set<string>();
  const note = ({ verb, resource, name }: FakeCall): boolean => {
    if (verb === 'get' && resource.resource === CONFIG_MAPS.resource) mounted.add(name);
    return false;
  };
  client.failNext(note, StatusError.unavailable('never'), Number.POSITIVE_INFINITY);
  for (const { metadata } of [gone, lives]) void new PodWorker(metadata.uid ?? '', services).run(stop.signal);
  const containers = async () => {
    await clock.advance(1000);
    const states = await runtime.observer.listPods(OWNER, stop.signal);
    return states.map(({ identity, containers: { length } }) => [identity.uid, length]);
  };
  await expect.poll(containers).toEqual([[lives.metadata.uid, 1]]);
  expect([...mounted]).toEqual(['of-lives']);
  expect(created).toEqual([lives.metadata.uid]);
});
