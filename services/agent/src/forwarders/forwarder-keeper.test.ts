import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { Service } from '@gantry/objects';
import { silentLogger } from '@gantry/service';
import { expect, it, onTestFinished } from 'vitest';
import { AgentError } from '../runtime/agent-error.ts';
import type { ForwarderSpec } from '../runtime/forwarders.ts';
import { ForwarderKeeper, isForwarding } from './forwarder-keeper.ts';

const service = (name: string, port: number, nodePort?: number): Service => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { namespace: 'a', name, uid: `uid-${name}` },
  spec: { type: 'LoadBalancer', ports: [{ port, ...(nodePort === undefined ? {} : { nodePort }) }] },
  status: { loadBalancer: { ingress: [{ ip: '10.128.10.7', ipMode: 'VIP' }] } },
});

/** Runs everything that is ready. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

interface StartOptions {
  readonly image: string | undefined;
  /** The uids of Services whose forwarders an earlier agent has left behind. */
  readonly left?: readonly string[];
}

/** Starts a keeper over an engine in memory. Some ports of its host are in use. */
function start({ image, left = [] }: StartOptions = { image: 'sha256:1' }) {
  const clock = new ManualClock();
  const running = new Map(left.map((uid) => [uid, { uid, hash: 'h' } as ForwarderSpec]));
  const used = new Set<number>();
  const events: string[] = [];
  let services: readonly Service[] = [];
  let listed = 0;
  let notify = () => undefined as void;
  let isBroken = false;
  const keeper = new ForwarderKeeper({
    runtime: {
      listForwarders: () => {
        listed += 1;
        if (isBroken) return Promise.reject(new AgentError('Runtime', 'no engine'));
        return Promise.resolve([...running].map(([id, { uid, hash }]) => ({ id, uid, hash, state: 'running' })));
      },
      startForwarder: (spec) => {
        const taken = spec.ports.find(({ hostPort }) => used.has(hostPort));
        if (taken !== undefined) {
          return Promise.reject(new AgentError('Runtime', `127.0.0.1:${taken.hostPort}: port is already allocated`));
        }
        running.set(`${spec.uid}/${spec.hash}`, spec);
        return Promise.resolve();
      },
      removeForwarder: (id) => {
        running.delete(id);
        return Promise.resolve();
      },
    },
    services: {
      all: () => Promise.resolve(services),
      subscribe: (listener) => {
        notify = listener;
        return () => undefined;
      },
    },
    events: {
      event: (object, type, reason, message) => events.push(`${object.metadata.name} ${type} ${reason} ${message}`),
    },
    cluster: 'c',
    network: 'c-pods',
    podCidr: '10.128.0.0/20',
    image,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void keeper.lead(stop.signal);
  return {
    clock,
    used,
    events,
    lists: () => listed,
    breakEngine: (broken: boolean) => (isBroken = broken),
    running,
    hostPorts: () => [...running.values()].flatMap(({ ports }) => ports.map(({ hostPort }) => hostPort)),
    set: async (...now: readonly Service[]) => {
      services = now;
      notify();
      await settle();
    },
    advance: async (ms: number) => {
      await clock.advance(ms);
      await settle();
    },
  };
}

it('Services get their forwarders at once, another one when they change, and lose them', async () => {
  const { set, hostPorts, running } = start();
  await set(service('x', 80));
  expect(hostPorts()).toEqual([80]);
  expect([...running.values()][0]).toMatchObject({ network: 'c-pods', closedRange: '10.128.4.0-10.128.9.255' });
  await set(service('x', 81), service('y', 82));
  expect(hostPorts()).toEqual([81, 82]);
  await set();
  expect(hostPorts()).toEqual([]);
});

it('a port that is in use is reported: the node ports are forwarded, or it is tried again later, and others are not held up', async () => {
  const { set, used, hostPorts, events, advance } = start();
  used.add(80);
  await set(service('x', 80, 30_080), service('y', 80), service('z', 81));
  expect(hostPorts()).toEqual([30_080, 81]);
  expect(events).toEqual([
    'x Warning ForwarderFailed 127.0.0.1 (80/tcp): 127.0.0.1:80: port is already allocated; 127.0.0.1 (30080/tcp) is forwarded instead',
    'y Warning ForwarderFailed 127.0.0.1 (80/tcp): 127.0.0.1:80: port is already allocated; nothing is forwarded',
  ]);
  used.clear();
  await advance(9000);
  expect(hostPorts()).toEqual([30_080, 81]);
  await advance(2000);
  await advance(10_000);
  expect(hostPorts()).toEqual([30_080, 81, 80]);
});

it('one that others remove comes back, and Services that say nothing new cost the engine nothing', async () => {
  const { set, running, hostPorts, advance, lists } = start();
  await set(service('x', 80));
  const before = lists();
  for (let times = 0; times < 5; times++) await set(service('x', 80));
  expect(lists()).toBe(before);
  running.clear();
  await advance(10_000);
  expect(hostPorts()).toEqual([80]);
});

it('a round that failed is repeated', async () => {
  const { set, breakEngine, hostPorts, advance } = start();
  breakEngine(true);
  await set(service('x', 80));
  expect(hostPorts()).toEqual([]);
  breakEngine(false);
  await advance(5000);
  expect(hostPorts()).toEqual([80]);
});

it('where none are wanted, those that are left go', async () => {
  const { set, running, advance, lists } = start({ image: undefined, left: ['uid-x'] });
  await settle();
  expect(running.size).toBe(0);
  await advance(60_000);
  await set(service('x', 80));
  expect(running.size).toBe(0);
  expect(lists(), 'the engine is asked once').toBe(1);
});

it.each([
  ['auto', 'Docker Desktop', true],
  ['auto', 'Debian GNU/Linux 12 (bookworm)', false],
  ['on', 'Debian GNU/Linux 12 (bookworm)', true],
  ['off', 'Docker Desktop', false],
] as const)('with %s on %s load balancers are forwarded: %s', (setting, os, wanted) => {
  expect(isForwarding(setting, { os })).toBe(wanted);
});
