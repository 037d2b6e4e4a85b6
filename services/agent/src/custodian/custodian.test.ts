import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import {
  type Eviction,
  EVENTS,
  type KubeObject,
  LEASES,
  NODES,
  PODS,
  type Resource,
  StatusError,
} from '@gantry/objects';
import { must } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectClient, ObjectWrite } from '@gantry/client';
import { createOvertakenClient, FakeObjectClient } from '@gantry/client/testing';
import { createEventRecorder } from '@gantry/controller-runtime';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { linuxMounts } from '../mounts/linux-mounts.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import { plainSandbox } from '../runtime/testing/plain-specs.ts';
import { PodSource } from '../sources/pod-source.ts';
import { startNode } from '../testing/start-node.ts';
import { Custodian, type CustodianOptions } from './custodian.ts';
import type { CleanedPods } from './plan.ts';
import { writeKeyVolume } from '../identity/self.ts';

const NODE_KEY = { namespace: '', name: 'host-2' };
const LEASE_KEY = { namespace: 'kube-node-lease', name: 'host-2' };

describe('a host custodian with an agent that comes back', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let statePath: string;
  let removedVolumes: string[];
  let meanwhile: (write: ObjectWrite) => Promise<void>;
  let servicesFor: CustodianOptions['servicesFor'];
  let mounts: HostMounts;
  let runtime: HollowRuntime;
  let warnings: string[];
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    removedVolumes = [];
    warnings = [];
    statePath = await mkdtemp(join(tmpdir(), 'gantry-custodian-'));
    await mkdir(join(statePath, 'nodes', 'host-2'), { recursive: true });
    meanwhile = async () => undefined;
    mounts = linuxMounts();
    const image = { id: 'sha256:1', sizeBytes: 1, digests: [], user: '', labels: [] };
    runtime = new HollowRuntime({ clock, images: { pause: image } });
    servicesFor = () => {
      throw new AgentError('Identity', 'nothing to clean up');
    };
    await putNode('host-2');
  });
  afterEach(async () => {
    stop.abort();
    await rm(statePath, { recursive: true });
  });

  const putNode = async (name: string) => {
    const metadata = { name, labels: { 'gantry.dev/engine': 'engine' } };
    await server.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata, spec: {} });
    await server.put(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...LEASE_KEY, name },
      spec: { renewTime: '2026-01-01T00:00:00.000000Z' },
    });
  };
  const lead = () => {
    const client = createOvertakenClient(server, (write) => meanwhile(write));
    const custodian = new Custodian({
      client,
      events: createEventRecorder({ client, component: 'test', clock, random: () => 0.5, log: silentLogger }),
      runtime,
      agents: {
        describeSelf: async () => undefined,
        listNumbers: async () => new Map([[1, 'running']]),
        removeUnusedVolume: async (volume) => {
          removedVolumes.push(volume);
        },
      },
      compose: { project: 'p', service: 'agent', number: 1, kind: 'service' },
      cluster: 'c',
      node: 'host-1',
      engineName: 'engine',
      hostName: 'host',
      statePath,
      mounts,
      servicesFor: (cleaned) => servicesFor(cleaned),
      clock,
      logger: { ...silentLogger, warn: (_facts: unknown, text: string) => void warnings.push(text) },
    });
    // Both at the same time, as in an agent.
    void custodian.lead(stop.signal);
    void custodian.follow(stop.signal);
    return custodian;
  };
  const write = async (resource: Resource, key: typeof NODE_KEY, patch: object) => {
    await server.write({ verb: 'patch', resource, key, patch, patchType: 'application/merge-patch+json' }, stop.signal);
  };
  /** Advances past the time in which a successor may appear. */
  const wait = async () => {
    for (let seconds = 0; seconds < 20; seconds++) await clock.advance(1000);
  };

  it.each(['while it leads', 'before it leads'])(
    'leaves a living agent alone whose Lease was removed %s, for as long as one that is late',
    async (when) => {
      const begun: string[] = [];
      servicesFor = ({ node }) => {
        begun.push(node);
        throw new AgentError('Identity', 'a living agent');
      };
      const renewals = async () => {
        for (let seconds = 0; seconds < 10; seconds++) {
          await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
          await clock.advance(1000);
        }
      };
      if (when === 'while it leads') lead();
      await renewals();
      const [lease] = server.all(LEASES);
      await server.delete(LEASES, LEASE_KEY, {}, stop.signal);
      if (when === 'before it leads') lead();
      // The custodian looks every two seconds.
      await clock.advance(3500);
      expect(begun).toEqual([]);
      await server.put(LEASES, { ...must(lease, 'a Lease'), metadata: LEASE_KEY });
      await renewals();
      expect(begun).toEqual([]);
      expect(server.all(NODES)).toHaveLength(1);
    },
  );

  it('reads no Leases but those of its engine, and its Nodes seldom, while all are heard', async () => {
    await server.put(LEASES, {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { ...LEASE_KEY, name: 'elsewhere-1' },
    });
    const [gets, lists] = [vi.spyOn(server, 'get'), vi.spyOn(server, 'list')];
    lead();
    for (let seconds = 0; seconds < 25; seconds++) {
      await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
      await clock.advance(1000);
    }
    expect(new Set(gets.mock.calls.map(([, { name }]) => name))).toEqual(new Set(['host-2']));
    expect(lists.mock.calls.map(([{ resource }]) => resource)).toEqual(['nodes', 'nodes', 'nodes']);
  });

  it('finds an agent silent after four seconds, but not one that has renewed since its Lease was read', async () => {
    const custodian = lead();
    await clock.advance(3_900);
    expect(await custodian.isSilent('host-2', stop.signal)).toBe(false);
    await clock.advance(100);
    expect(await custodian.isSilent('host-2', stop.signal)).toBe(true);
    await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
    expect(await custodian.isSilent('host-2', stop.signal)).toBe(false);
    expect(await custodian.isSilent('unknown', stop.signal)).toBe(false);
  });

  it('counts a heartbeat from when it was read, however long that took', async () => {
    const begun: string[] = [];
    servicesFor = ({ node }) => {
      begun.push(node);
      throw new AgentError('Identity', 'a living agent');
    };
    const answered = Promise.withResolvers<void>();
    const get: ObjectClient['get'] = server.get.bind(server);
    vi.spyOn(server, 'get').mockImplementationOnce(async (...args) => {
      await answered.promise;
      return get(...args);
    });
    lead();
    await clock.advance(3000);
    await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
    answered.resolve();
    // The agent holds its Lease for 3 s after that renewal.
    await clock.advance(3500);
    expect(begun).toEqual([]);
    await clock.advance(2000);
    expect(begun).toContain('host-2');
  });

  it('leaves the containers of a living agent alone whose Node and Lease were removed', async () => {
    const begun: string[] = [];
    servicesFor = ({ node }) => {
      begun.push(node);
      throw new AgentError('Identity', 'a living agent');
    };
    const owner = { cluster: 'c', node: 'foreign-1' };
    const identity = { owner, pod: { uid: 'u', namespace: 'd', name: 'p' }, image: 'pause' };
    await putNode('foreign-1');
    await server.delete(NODES, NODE_KEY, {}, stop.signal);
    await runtime.sandboxes.createSandbox(plainSandbox(identity), stop.signal);
    const renew = async () => {
      await clock.advance(1000);
      const renewTime = new Date(clock.now()).toISOString();
      await write(LEASES, { ...LEASE_KEY, name: 'foreign-1' }, { spec: { renewTime } });
    };
    lead();
    for (let seconds = 0; seconds < 12; seconds++) await renew();
    await server.delete(NODES, { namespace: '', name: 'foreign-1' }, {}, stop.signal);
    await server.delete(LEASES, { ...LEASE_KEY, name: 'foreign-1' }, {}, stop.signal);
    await clock.advance(3500);
    expect(begun).toEqual([]);
    // No agent creates them again.
    await wait();
    expect(begun).toContain('foreign-1');
  });

  it('waits for a successor each time that an agent goes', async () => {
    lead();
    await clock.advance(8000);
    for (let seconds = 0; seconds < 10; seconds++) {
      await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
      await clock.advance(1000);
    }
    await clock.advance(8000);
    expect(server.all(NODES)).toHaveLength(1);
    await wait();
    expect(server.all(NODES)).toEqual([]);
  });

  it('removes a node that was scaled away', async () => {
    lead();
    await wait();
    expect(server.all(NODES)).toEqual([]);
    expect(server.all(LEASES)).toEqual([]);
    const reported = server
      .all(EVENTS)
      .map(({ involvedObject: { kind, name }, reason, message }) => [kind, name, reason, message]);
    const message = 'Deleting node host-2 because it does not exist in the cloud provider';
    expect(reported).toEqual([['Node', 'host-2', 'DeletingNode', message]]);
  });

  it('removes with a node the control groups of its pods, and no other', async () => {
    const owner = (node: string) => ({ cluster: 'c', node });
    for (const node of ['host-1', 'host-2']) {
      await runtime.podGroups.updatePodGroup({ owner: owner(node), uid: 'u' }, {});
    }
    lead();
    await wait();
    expect(await runtime.podGroups.listPodGroups(owner('host-2'))).toEqual([]);
    expect(await runtime.podGroups.listPodGroups(owner('host-1'))).toEqual(['u']);
  });

  it.each([
    [
      'says once that a node stays',
      Infinity,
      ['host custodian: a node stays, since something is in control groups of its pods'],
    ],
    ['does not say that a node stays', 1, []],
  ])('%s while something is in its control groups for %s rounds', async (_, rounds, said) => {
    const owner = { cluster: 'c', node: 'host-2' };
    await runtime.podGroups.updatePodGroup({ owner, uid: 'u' }, {});
    let asked = 0;
    const remove = runtime.podGroups.removePodGroup;
    runtime.podGroups.removePodGroup = async (pod) => ++asked > rounds && (await remove(pod));
    lead();
    await wait();
    expect(server.all(NODES)).toHaveLength(rounds === 1 ? 0 : 1);
    expect(asked).toBeGreaterThan(1);
    expect(warnings.filter((text) => text.includes('a node stays'))).toEqual(said);
  });

  it.each([
    ['of the engine that has no name', 'ab'.repeat(32), ['ab'.repeat(32)]],
    ['that has a name', 'cluster_pki-ca', []],
  ])('removes with a node its volume of keys, only one %s', async (_, volume, removed) => {
    await writeKeyVolume(join(statePath, 'nodes', 'host-2'), volume);
    lead();
    await wait();
    await expect.poll(() => readdir(join(statePath, 'nodes'))).toEqual([]);
    expect(removedVolumes).toEqual(removed);
  });

  it('asks for no pods of a living agent, for which it has no right', async () => {
    let asked = 0;
    const list = server.list.bind(server);
    server.list = (resource, options, signal) => {
      if (resource.resource === PODS.resource) asked += 1;
      return list(resource, options, signal);
    };
    lead();
    await clock.advance(3500);
    expect(asked).toBe(0);
    await wait();
    expect(asked).toBeGreaterThan(0);
  });

  it('does not remove a node whose Lease was renewed in the meantime', async () => {
    meanwhile = async () => {
      const renewTime = new Date(clock.now()).toISOString();
      await write(LEASES, LEASE_KEY, { spec: { renewTime } });
    };
    lead();
    await wait();
    expect(server.all(NODES)).toHaveLength(1);
    expect(server.all(LEASES)).toHaveLength(1);
    expect(await readdir(join(statePath, 'nodes'))).toEqual(['host-2']);
  });

  it('goes on with a cleanup when the agent turns out to be scaled away, beside that of the pods of its files', async () => {
    const { services } = await startNode();
    const begun: Pick<CleanedPods, 'object' | 'pods'>[] = [];
    servicesFor = ({ object, pods }) => {
      begun.push({ object, pods });
      const source = new PodSource({ client: server, node: 'host-2', clock, random: () => 0.5, logger: silentLogger });
      return { ...services, source };
    };
    const finalizers = ['example.com/kept'];
    await server.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a', finalizers } });
    lead();
    await wait();
    const present = { object: 'present', pods: 'of-api' };
    expect(begun).toEqual([present, { ...present, pods: 'static' }]);
    expect(server.all(NODES)).toHaveLength(1);
  });

  it('removes other nodes while the folder of one takes long to remove', async () => {
    const [hung, removed] = [Promise.withResolvers<void>(), [] as string[]];
    mounts = {
      ...mounts,
      remove: async (folder) => {
        removed.push(basename(folder));
        if (folder.endsWith('host-2')) await hung.promise;
      },
    };
    await putNode('host-3');
    lead();
    await wait();
    // The node's folder is read from the disk.
    await expect.poll(() => server.all(NODES)).toEqual([]);
    await expect.poll(() => removed).toEqual(['host-2', 'host-3']);
    hung.resolve();
  });

  it('drains other nodes while what acted for an agent that is back takes long to end', async () => {
    const { services } = await startNode();
    const [hung, ended] = [Promise.withResolvers<void>(), [] as string[]];
    servicesFor = ({ pods }) => {
      const source = new PodSource({ client: server, node: 'host-2', clock, random: () => 0.5, logger: silentLogger });
      const run = async (signal: AbortSignal) => {
        signal.addEventListener('abort', () => ended.push(pods));
        await hung.promise;
      };
      return { ...services, source: Object.assign(source, { run }) };
    };
    const metadata = { name: 'p', namespace: 'a', finalizers: ['example.com/kept'] };
    await server.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata, spec: { nodeName: 'host-2', containers: [] } });
    lead();
    await wait();
    expect(ended).toEqual([]);
    await write(LEASES, LEASE_KEY, { spec: { renewTime: new Date(clock.now()).toISOString() } });
    await putNode('host-3');
    await wait();
    expect(ended.toSorted()).toEqual(['of-api', 'static']);
    const drained = server.all(NODES).map(({ metadata: { name }, spec }) => [name, spec?.unschedulable]);
    expect(drained).toContainEqual(['host-3', true]);
    hung.resolve();
  });

  it('records why it could not remove a node, and removes it later', async () => {
    server.failNext(({ verb, resource }) => verb === 'delete' && resource === NODES, StatusError.internal('no space'));
    lead();
    await wait();
    expect(server.all(NODES)).toEqual([]);
    const reported = server.all(EVENTS).map(({ type, reason, message, count }) => [type, reason, message, count]);
    expect(reported).toEqual([
      ['Normal', 'DeletingNode', 'Deleting node host-2 because it does not exist in the cloud provider', 2],
      ['Warning', 'DeletingNodeFailed', expect.stringMatching(/^Failed deleting node host-2: .*no space/), 1],
    ]);
  });

  it('does not remove a node that was written in the meantime', async () => {
    let count = 0;
    meanwhile = async ({ resource }) => {
      count += 1;
      if (resource === NODES) await write(NODES, NODE_KEY, { metadata: { labels: { count: String(count) } } });
    };
    lead();
    await wait();
    expect(server.all(NODES)).toHaveLength(1);
    expect(await readdir(join(statePath, 'nodes'))).toEqual(['host-2']);
  });

  it('does not drain a node that was written in the meantime', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' } };
    await server.put(PODS, pod);
    let count = 0;
    meanwhile = async () => {
      count += 1;
      await write(NODES, NODE_KEY, { metadata: { labels: { count: String(count) } } });
    };
    lead();
    await wait();
    expect(server.all(NODES)[0]?.spec).toEqual({});
    expect(server.all(PODS)).toHaveLength(1);
  });

  it('evicts the pod that it has seen, and none that has its name by now', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' } };
    const { metadata } = await server.put(PODS, pod);
    const uids: unknown[] = [];
    meanwhile = async (write) => {
      if (write.verb !== 'create' || write.subresource !== 'eviction') return;
      uids.push((write.object as Eviction).deleteOptions?.preconditions?.uid);
    };
    lead();
    await wait();
    expect(uids).toEqual([metadata.uid]);
    expect(server.all(PODS)).toEqual([]);
  });

  it.each([
    ['a budget refuses', new StatusError('TooManyRequests', 'no disruption is allowed')],
    ['two budgets claim', new StatusError('', 'more than one budget')],
  ])('deletes a pod that %s to let go for half a minute', async (_, refusal) => {
    for (const name of ['p', 'q']) {
      await server.put(PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'a' } });
    }
    let refused = 0;
    meanwhile = async (write) => {
      if (write.verb !== 'create' || write.subresource !== 'eviction' || write.object.metadata.name !== 'p') return;
      refused += 1;
      throw refusal;
    };
    lead();
    await wait();
    expect(refused).toBeGreaterThan(1);
    expect(server.all(PODS).map(({ metadata }) => metadata.name)).toEqual(['p']);
    await wait();
    await wait();
    expect(server.all(PODS)).toEqual([]);
  });

  it('deletes no pod that has the name of the refused one by now', async () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', namespace: 'a' } };
    await server.put(PODS, pod);
    let successor: KubeObject | undefined;
    meanwhile = async (write) => {
      if (write.verb === 'create' && write.subresource === 'eviction') {
        throw new StatusError('TooManyRequests', 'no disruption is allowed');
      }
      if (write.verb !== 'delete' || write.resource.resource !== 'pods' || successor !== undefined) return;
      await server.delete(PODS, { namespace: 'a', name: 'p' }, {}, stop.signal);
      successor = await server.put(PODS, pod);
    };
    lead();
    while (successor === undefined) await clock.advance(1000);
    await clock.advance(1000);
    expect(server.all(PODS).map(({ metadata }) => metadata.uid)).toEqual([successor.metadata.uid]);
  });
});
