import { ManualClock } from '@gantry/base/testing';
import { FakeObjectClient } from '@gantry/client/testing';
import { NODES } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { HollowRuntime } from '../hollow/hollow-runtime.ts';
import { HostShares } from './host-shares.ts';
import { expectedNode } from './node-object.ts';
import { NodeStatusManager, ImageList } from './node-status-manager.ts';
import { parseNodeLabels, parseTaints, RegistrationError } from './registration.ts';

describe('labels at registration', () => {
  it('are keys with values, which may be empty', () => {
    const entries = ['disk=ssd', 'example.com/pool=', 'node.kubernetes.io/instance-type=big'];
    expect(parseNodeLabels(entries)).toEqual({
      disk: 'ssd',
      'example.com/pool': '',
      'node.kubernetes.io/instance-type': 'big',
    });
  });

  it.each([
    ['disk', 'is not of the form key=value'],
    ['disk=a=b', 'is not of the form key=value'],
    ['=ssd', 'name part must be non-empty'],
    ['disk=-', 'a valid label must be'],
    ['node-role.kubernetes.io/worker=', 'is a label that an agent may not set on its Node'],
    ['node-restriction.kubernetes.io/team=a', 'is a label that an agent may not set on its Node'],
    ['gantry.dev/engine=other', 'is a label that an agent may not set on its Node'],
    ['kubernetes.io/hostname=other', 'is a label that the agent finds out'],
  ])('are not such as %s', (entry, reason) => {
    const parse = () => parseNodeLabels([entry]);
    expect(parse).toThrow(RegistrationError);
    expect(parse).toThrow(`${JSON.stringify(entry)} `);
    expect(parse).toThrow(reason);
  });

  it('have one value each', () => {
    expect(() => parseNodeLabels(['disk=ssd', 'disk=hdd'])).toThrow('"disk=hdd" is the second value of its label');
  });
});

describe('taints at registration', () => {
  it('have a key and an effect, and perhaps a value', () => {
    expect(
      parseTaints(['dedicated=db:NoSchedule', 'example.com/new:NoExecute', 'dedicated=:PreferNoSchedule']),
    ).toEqual([
      { key: 'dedicated', value: 'db', effect: 'NoSchedule' },
      { key: 'example.com/new', effect: 'NoExecute' },
      { key: 'dedicated', value: '', effect: 'PreferNoSchedule' },
    ]);
  });

  it.each([
    ['dedicated', 'is not of the form key=value:effect'],
    ['dedicated=db', 'is not of the form key=value:effect'],
    ['dedicated=db:', 'is not of the form key=value:effect'],
    ['dedicated=db:Never', 'NoSchedule, PreferNoSchedule, NoExecute'],
    ['dedicated=db:NoSchedule-', 'is not of the form key=value:effect'],
    ['dedicated=a=b:NoSchedule', 'is not of the form key=value:effect'],
    ['dedicated:NoSchedule:NoSchedule', 'is not of the form key=value:effect'],
    ['=db:NoSchedule', 'name part must be non-empty'],
    ['dedicated=@:NoSchedule', 'a valid label must be'],
  ])('are not such as %s', (entry, reason) => {
    const parse = () => parseTaints([entry]);
    expect(parse).toThrow(RegistrationError);
    expect(parse).toThrow(reason);
  });

  it('are unique by key and effect', () => {
    const entries = ['dedicated=db:NoSchedule', 'dedicated:NoSchedule'];
    expect(() => parseTaints(entries)).toThrow('"dedicated:NoSchedule" is the second taint with its key and effect');
  });
});

const REGISTRATION = {
  labels: { 'topology.kubernetes.io/zone': 'rack-1', 'example.com/pool': 'new' },
  taints: [{ key: 'example.com/new', effect: 'NoSchedule' }],
};
const REGISTERED_LABELS = { ...REGISTRATION.labels, 'topology.kubernetes.io/region': 'gantry' };
const NOTHING = { cpuMillis: 0, memoryBytes: 0, storageBytes: 0 };

/** Returns the parts of a node that registers itself, and its API. */
async function unregistered() {
  const clock = new ManualClock();
  const api = new FakeObjectClient(clock);
  const { engine: runtime, images } = new HollowRuntime({ clock, images: {} });
  const engine = await runtime.info();
  const shares = new HostShares({ ...engine, storageBytes: 2 ** 35 }, NOTHING, 1);
  const facts = { name: 'n', engineName: 'engine', engine, registration: REGISTRATION };
  const manager = new NodeStatusManager({
    client: api,
    engine: runtime,
    observation: {
      ...facts,
      address: '10.0.0.1',
      gatewayAddress: undefined,
      hostAddress: '',
      forwardedFrom: '',
      privilege: 'full',
      ids: { machine: 'm', boot: 'b', system: 's' },
    },
    shares,
    view: { observe: () => undefined },
    pressures: () => [],
    images: new ImageList(images, clock, silentLogger),
    clock,
    logger: silentLogger,
  });
  return { api, clock, manager, shares, facts, node: () => api.all(NODES)[0] };
}

describe('the Node of an agent with labels and taints', () => {
  it('begins with them, and is judged by them before', async () => {
    const { manager, facts, shares, node } = await unregistered();
    expect(expectedNode(facts, shares)).toMatchObject({
      metadata: { labels: REGISTERED_LABELS },
      spec: { taints: REGISTRATION.taints },
    });
    await manager.register(new AbortController().signal);
    expect(node()).toMatchObject({
      metadata: { labels: REGISTERED_LABELS },
      spec: { taints: REGISTRATION.taints, providerID: 'gantry://engine/n' },
    });
  });

  it('keeps its zone; all else is whose who changes it', async () => {
    const { api, clock, manager, node } = await unregistered();
    const stop = new AbortController();
    await manager.register(stop.signal);
    void manager.run(stop.signal);
    const labels = { 'topology.kubernetes.io/zone': 'other', 'example.com/pool': 'other' };
    const merge = { metadata: { labels }, spec: { taints: null } };
    await api.patch(NODES, { namespace: '', name: 'n' }, { merge }, stop.signal);
    await clock.advance(5_000);
    expect(node()?.metadata.labels).toMatchObject({ ...REGISTERED_LABELS, 'example.com/pool': 'other' });
    expect(node()?.spec?.taints ?? []).toEqual([]);
    stop.abort();
  });
});
