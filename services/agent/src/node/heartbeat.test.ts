import { raceAbort } from '@gantry/base';
import { LEASES, type Node, NODES, StatusError } from '@gantry/objects';
import { ManualClock } from '@gantry/base/testing';
import { createOvertakenClient, type FakeCall, FakeObjectClient } from '@gantry/client/testing';
import { silentLogger } from '@gantry/service';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Heartbeat } from './heartbeat.ts';

/** The state of agents without a Node. */
const NO_NODE = { nodeUid: () => undefined, onNodeGone: () => undefined };
const KEY = { namespace: 'kube-node-lease', name: 'n' };

describe('a heartbeat with concurrent writes of other clients', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let overtake: () => Promise<void>;
  let recoveries: number;
  beforeEach(async () => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    overtake = async () => undefined;
    recoveries = 0;
    const client = createOvertakenClient(server, () => overtake());
    const onRecovered = () => {
      recoveries += 1;
    };
    void new Heartbeat({ client, node: 'n', clock, logger: silentLogger, ...NO_NODE, onRecovered }).run(stop.signal);
    await clock.advance(1500);
  });
  afterEach(() => stop.abort());

  const once = (act: () => Promise<unknown>) => {
    overtake = async () => {
      overtake = async () => undefined;
      await act();
    };
  };
  const label = async () => {
    const patch = { metadata: { labels: { team: 'web' } } };
    await server.patch(LEASES, KEY, { merge: patch }, stop.signal);
  };
  const renewed = () => Date.parse(server.all(LEASES)[0]?.spec?.renewTime ?? '');

  it('is not late when its Lease is written by another client, and keeps that change', async () => {
    once(label);
    const before = renewed();
    await clock.advance(1000);
    expect(renewed() - before).toBe(1000);
    expect(server.all(LEASES)[0]?.metadata.labels).toEqual({ team: 'web' });
    expect(recoveries).toBe(1);
  });

  it('is not late when its Lease is removed', async () => {
    once(() => server.write({ verb: 'delete', resource: LEASES, key: KEY }, stop.signal));
    const before = renewed();
    await clock.advance(1000);
    expect(renewed() - before).toBe(1000);
    expect(recoveries).toBe(1);
  });
});

describe('the Lease of a node', () => {
  let clock: ManualClock;
  let server: FakeObjectClient;
  let stop: AbortController;
  let seen: Node | undefined;
  let missed: number;
  let reads: number;
  beforeEach(() => {
    clock = new ManualClock();
    server = new FakeObjectClient(clock);
    stop = new AbortController();
    seen = undefined;
    missed = 0;
    reads = 0;
  });
  afterEach(() => stop.abort());

  const start = () => {
    const get = server.get.bind(server);
    server.get = (resource, ...rest) => {
      if (resource.resource === NODES.resource) reads += 1;
      return get(resource, ...rest);
    };
    const nodeUid = () => seen?.metadata.uid;
    const onNodeGone = () => {
      missed += 1;
    };
    const options = { client: server, node: 'n', clock, logger: silentLogger, onRecovered: () => undefined };
    void new Heartbeat({ ...options, nodeUid, onNodeGone }).run(stop.signal);
  };
  const register = async () => {
    seen = await server.put(NODES, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, spec: {} });
    return seen.metadata.uid ?? '';
  };
  const removeNode = () => server.delete(NODES, { namespace: '', name: 'n' }, {}, stop.signal);
  /** Deletes the Lease like the garbage collector, which deletes the dependents of a missing Node. */
  const collect = () => server.delete(LEASES, KEY, {}, stop.signal);
  const owners = () => server.all(LEASES).map(({ metadata }) => metadata.ownerReferences ?? []);
  const owner = (uid: string) => ({ apiVersion: 'v1', kind: 'Node', name: 'n', uid });

  it('is owned by the Node, which is read once', async () => {
    const uid = await register();
    start();
    await clock.advance(5500);
    expect(owners()).toEqual([[owner(uid)]]);
    expect(reads).toBe(1);
    expect(missed).toBe(0);
  });

  it('of an agent that starts anew gets its owner, and keeps those that others have added', async () => {
    const other = { apiVersion: 'v1', kind: 'ConfigMap', name: 'c', uid: 'uid-c' };
    const uid = await register();
    const metadata = { ...KEY, ownerReferences: [owner('uid-before'), other] };
    await server.put(LEASES, { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata, spec: {} });
    start();
    await clock.advance(500);
    expect(owners()).toEqual([[owner(uid), other]]);
    expect(reads).toBe(0);
  });

  it('follows a Node that was registered again', async () => {
    await register();
    start();
    await clock.advance(1500);
    await removeNode();
    const uid = await register();
    await clock.advance(1000);
    expect(owners()).toEqual([[owner(uid)]]);
  });

  it('that was collected with its Node is made at once, and has no owner until there is a Node again', async () => {
    await register();
    start();
    await clock.advance(1500);
    await removeNode();
    await collect();
    await clock.advance(1000);
    expect(owners()).toEqual([[]]);
    expect(missed).toBe(1);
    await clock.advance(3000);
    expect(owners()).toEqual([[]]);
    expect(reads).toBe(2);
    const uid = await register();
    await clock.advance(1000);
    expect(owners()).toEqual([[owner(uid)]]);
  });

  it('that was collected is owned by a Node of which this agent has not heard yet', async () => {
    const before = await register();
    const [old] = [seen];
    start();
    await clock.advance(1500);
    await removeNode();
    const uid = await register();
    seen = old;
    await collect();
    await clock.advance(1000);
    expect(uid).not.toBe(before);
    expect(owners()).toEqual([[owner(uid)]]);
    expect(missed).toBe(0);
  });

  it('that someone has removed is made with its owner', async () => {
    const uid = await register();
    start();
    await clock.advance(1500);
    await collect();
    await clock.advance(1000);
    expect(owners()).toEqual([[owner(uid)]]);
  });

  const isLook = ({ verb, resource }: FakeCall) => verb === 'get' && resource.resource === NODES.resource;

  it('is made without an owner while the Node cannot be read, and gets it later', async () => {
    const uid = await register();
    server.failNext(isLook, StatusError.unavailable('no'), 3);
    start();
    await clock.advance(500);
    expect(owners()).toEqual([[]]);
    await clock.advance(2000);
    expect(owners()).toEqual([[]]);
    await clock.advance(1000);
    expect(owners()).toEqual([[owner(uid)]]);
    await clock.advance(3000);
    expect(reads).toBe(4);
    expect(missed).toBe(0);
  });

  it('is made in time while a look at the Node hangs', async () => {
    await register();
    const get = server.get.bind(server);
    server.get = (resource, key, signal) =>
      resource.resource === NODES.resource
        ? raceAbort(new Promise(() => undefined), signal)
        : get(resource, key, signal);
    start();
    await clock.advance(1000);
    expect(owners()).toEqual([[]]);
    const renewed = () => Date.parse(server.all(LEASES)[0]?.spec?.renewTime ?? '');
    const before = renewed();
    await clock.advance(3000);
    expect(renewed() - before).toBe(3000);
  });

  it('keeps the owner of which its agent has heard while the Node cannot be read', async () => {
    server.failNext(isLook, StatusError.unavailable('no'), Number.POSITIVE_INFINITY);
    start();
    await clock.advance(500);
    expect(owners()).toEqual([[]]);
    const uid = await register();
    for (let renewals = 0; renewals < 3; renewals++) {
      await clock.advance(1000);
      expect(owners()).toEqual([[owner(uid)]]);
    }
  });

  it('that was collected has no owner while the Node cannot be read: the one that was seen may be gone', async () => {
    await register();
    start();
    await clock.advance(1500);
    await removeNode();
    await collect();
    server.failNext(isLook, StatusError.unavailable('no'), 1);
    await clock.advance(1000);
    expect(owners()).toEqual([[]]);
    expect(missed).toBe(0);
    await clock.advance(1000);
    expect(missed).toBe(1);
    expect(owners()).toEqual([[]]);
  });
});
