import { type Node, NODES, StatusError } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { createObjectClient, type ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import type { NodePressure } from '../spec/node-pressure.ts';
import { HostShares } from './host-shares.ts';
import { NodeStatusManager, ImageList, nodeImages } from './node-status-manager.ts';
import { PLAIN_REGISTRATION } from './registration.ts';

const { signal } = new AbortController();
const KEY = { namespace: '', name: 'n' };

describe('the node status with concurrent writes of other clients', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let meanwhile: (write: ObjectWrite) => Promise<void>;
  let manager: NodeStatusManager;
  let reads: number;
  let shares: HostShares;
  let pressures: readonly NodePressure[];
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    meanwhile = async () => undefined;
    reads = 0;
    pressures = [];
    const IMAGE = { id: 'sha256:1', sizeBytes: 7, digests: [], user: '', labels: [] };
    const { engine, images } = new HollowRuntime({ clock, images: { nginx: IMAGE } });
    const nothing = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };
    const info = await engine.info();
    shares = new HostShares({ ...info, storageBytes: 2 ** 35 }, { ...nothing, cpuMillis: 500 }, 'all-nodes');
    const client = createOvertakenClient(server, (write) => meanwhile(write));
    manager = new NodeStatusManager({
      client: createObjectClient({
        ...client,
        list: (resource, options, signal) => {
          reads += 1;
          return client.list(resource, options, signal);
        },
      }),
      engine,
      observation: {
        name: 'n',
        engineName: 'engine',
        address: '10.0.0.1',
        gatewayAddress: '10.0.0.254',
        hostAddress: '192.0.2.7',
        forwardedFrom: '127.0.0.1',
        engine: info,
        privilege: 'full',
        registration: PLAIN_REGISTRATION,
        ids: { machine: 'm', boot: 'b', system: 's' },
      },
      shares,
      view: { observe: () => undefined },
      pressures: () => pressures,
      images: new ImageList(images, clock, silentLogger),
      clock,
      logger: silentLogger,
    });
    await manager.register(stop.signal);
    void manager.run(stop.signal);
    await clock.advance(0);
  });
  afterEach(() => stop.abort());

  const node = () => server.all(NODES)[0];
  const hostAddress = () => node()?.metadata.annotations?.['gantry.dev/host-address'];
  const ready = () => node()?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  /** Acts like the node lifecycle controller after missing heartbeats. */
  const markLost = async () => {
    const status = { ...node()?.status, conditions: [{ type: 'Ready', status: 'Unknown' }] };
    const object = { ...node(), status } as Node;
    await server.updateStatus(NODES, object, stop.signal);
  };
  const patch = async (change: object) => {
    await server.patch(NODES, KEY, { merge: change }, stop.signal);
  };
  /** Lets another client write first, `times` times. */
  const overtake = (times: number, act: (time: number) => Promise<void>) => {
    let left = times;
    meanwhile = async () => {
      if (left === 0) return;
      left -= 1;
      await act(left);
    };
  };

  it('says from where its host forwards load balancers, as long as it does', async () => {
    const forwardedFrom = () => node()?.metadata.annotations?.['gantry.dev/forwarded-from'];
    expect(forwardedFrom()).toBe('127.0.0.1');
    await patch({ metadata: { annotations: { 'gantry.dev/forwarded-from': null } } });
    manager.checkNow();
    await clock.advance(1000);
    expect(forwardedFrom()).toBe('127.0.0.1');
  });

  it('says where other hosts reach its host, again when that was changed', async () => {
    expect(hostAddress()).toBe('192.0.2.7');
    const merge = { metadata: { annotations: { 'gantry.dev/host-address': '192.0.2.8', other: 'x' } } };
    await server.patch(NODES, { namespace: '', name: 'n' }, { merge }, stop.signal);
    manager.checkNow();
    await clock.advance(1000);
    expect(hostAddress()).toBe('192.0.2.7');
    expect(node()?.metadata.annotations?.['other']).toBe('x');
  });

  it('is Ready at once after a recovery, with several writes of other clients in between', async () => {
    await markLost();
    overtake(3, (time) => patch({ metadata: { labels: { team: `web-${time}` } } }));
    manager.checkNow();
    await clock.advance(1);
    expect(ready()).toBe('True');
    expect(node()?.metadata.labels?.['team']).toBe('web-0');
  });

  it('is checked again soon after a check that failed', async () => {
    await markLost();
    server.failNext(({ verb }) => verb === 'update', StatusError.unavailable('no'));
    manager.checkNow();
    await clock.advance(1);
    expect(ready()).toBe('Unknown');
    await clock.advance(500);
    expect(ready()).toBe('True');
  });

  it('is checked once more after a request during a check', async () => {
    await markLost();
    overtake(1, async () => manager.checkNow());
    reads = 0;
    manager.checkNow();
    await clock.advance(1);
    expect(reads).toBe(2);
  });

  it('shares its host with the other Nodes of the engine, and keeps extended resources that others have written', async () => {
    const shown = () => [node()?.status?.capacity, node()?.status?.allocatable];
    const whole = {
      cpu: '8',
      memory: `${2 ** 24}Ki`,
      'ephemeral-storage': `${2 ** 25}Ki`,
      pods: '110',
      'hugepages-2Mi': '0',
    };
    expect(shown()).toMatchObject([whole, { ...whole, cpu: '7500m' }]);
    const labels = (engine: string) => ({ 'gantry.dev/engine': engine });
    await server.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'm', labels: labels('engine') } });
    await server.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'o', labels: labels('other') } });
    const capacity = { ...node()?.status?.capacity, 'example.dev/tape': '3' };
    await server.updateStatus(NODES, { ...node(), status: { ...node()?.status, capacity } } as Node, stop.signal);
    manager.checkNow();
    await clock.advance(1);
    const half = { cpu: '4', memory: `${2 ** 23}Ki`, 'ephemeral-storage': `${2 ** 24}Ki`, 'example.dev/tape': '3' };
    expect(shown()).toMatchObject([half, { ...half, cpu: '3500m' }]);
    expect(shares.allocatable()).toMatchObject({ cpuMillis: 3500, memoryBytes: 2 ** 33 });
  });

  it('shows what it is short of, and since when', async () => {
    const shown = () => node()?.status?.conditions?.filter(({ type }) => type.endsWith('Pressure'));
    const before = shown()?.[1]?.lastTransitionTime;
    await clock.advance(60_000);
    pressures = ['DiskPressure'];
    manager.checkNow();
    await clock.advance(1);
    expect(shown()?.map(({ type, status, reason, message }) => [type, status, reason, message])).toEqual([
      ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
      ['DiskPressure', 'True', 'KubeletHasDiskPressure', 'kubelet has disk pressure'],
      ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ]);
    expect(shown()?.[1]?.lastTransitionTime).not.toBe(before);
  });

  it('shows its images, its handlers and what it cannot do', () => {
    expect(node()?.status?.images).toEqual([{ names: ['nginx:latest'], sizeBytes: 7 }]);
    expect(node()?.status?.features).toEqual({ supplementalGroupsPolicy: true });
    expect(node()?.status?.declaredFeatures).toEqual([
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ]);
    const features = { recursiveReadOnlyMounts: true, userNamespaces: false };
    expect(node()?.status?.runtimeHandlers).toContainEqual({ name: '', features });
  });

  it('names machine, zone and region, and the addresses of node and host', () => {
    expect(node()?.spec?.providerID).toBe('gantry://engine/n');
    expect(node()?.metadata.labels).toMatchObject({
      'topology.kubernetes.io/region': 'gantry',
      'topology.kubernetes.io/zone': 'engine',
    });
    expect(node()?.status?.addresses).toEqual([
      { type: 'InternalIP', address: '10.0.0.1' },
      { type: 'ExternalIP', address: '10.0.0.254' },
      { type: 'Hostname', address: 'n' },
    ]);
  });

  it('names the machine of a Node of an earlier version, and changes no name that is there', async () => {
    await patch({ spec: { providerID: null }, metadata: { labels: { 'topology.kubernetes.io/zone': null } } });
    manager.checkNow();
    await clock.advance(1);
    expect(node()?.spec?.providerID).toBe('gantry://engine/n');
    expect(node()?.metadata.labels?.['topology.kubernetes.io/zone']).toBe('engine');
    await patch({ spec: { providerID: 'other://x' } });
    manager.checkNow();
    await clock.advance(1);
    expect(node()?.spec?.providerID).toBe('other://x');
  });

  it('keeps a cordon that a user has set in the meantime', async () => {
    const draining = 'gantry.dev/draining';
    await patch({ metadata: { annotations: { [draining]: 'true' } }, spec: { unschedulable: true } });
    overtake(1, () => patch({ metadata: { annotations: { [draining]: null } } }));
    manager.checkNow();
    await clock.advance(1);
    expect(node()?.spec?.unschedulable).toBe(true);
  });
});

it('shows the largest images of an engine with a few of their names', () => {
  const listed = Array.from({ length: 60 }, (_, index) => ({
    id: `sha256:${index}`,
    sizeBytes: index,
    names: Array.from({ length: 7 }, (__, name) => `i${index}:${name}`),
  }));
  const shown = nodeImages(listed);
  expect(shown.map(({ sizeBytes }) => sizeBytes)).toEqual(Array.from({ length: 50 }, (_, index) => 59 - index));
  expect(shown[0]?.names).toEqual(['i59:0', 'i59:1', 'i59:2', 'i59:3', 'i59:4']);
});

it('lists images once a minute, and keeps the list when the engine does not answer', async () => {
  const clock = new ManualClock();
  const answers = ['a', undefined, 'b'];
  let lists = 0;
  const listImages = async () => {
    const name = answers[lists++];
    if (name === undefined) throw new Error('busy');
    return [{ id: name, sizeBytes: 1, names: [name] }];
  };
  const list = new ImageList({ listImages }, clock, silentLogger);
  const names = async () => (await list.read(signal)).map(({ names: [name] = [] }) => name);
  expect(await names()).toEqual(['a']);
  expect(await names()).toEqual(['a']);
  expect(lists).toBe(1);
  await clock.advance(60_000);
  expect(await names()).toEqual(['a']);
  expect(await names()).toEqual(['b']);
  expect(lists).toBe(3);
});
