import {
  ENDPOINT_SLICES,
  ENGINE_LABEL,
  HOST_ADDRESS_ANNOTATION,
  type KubeObject,
  NETWORK_POLICIES,
  type NetworkPolicySpec,
  type Node,
  NODES,
  type Pod,
  PODS,
  type Resource,
  SERVICES,
} from '@gantry/objects';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Lab, type LabHost, type Place, TUNNEL } from '../testing/network-lab.ts';
import { networkPolicy, pod } from '../testing/policies.ts';
import { endpoint, service, slice } from '../testing/services.ts';
import { vxlanPayload } from '../testing/vxlan-packets.ts';
import { tunnelNumber } from './tunnel.ts';

/** Tests real rules, devices and packets. Hosts, pods and other machines are network namespaces. */

const WAIT = { timeout: 60_000 };
const VNI = tunnelNumber('gantry-lab');
/** The numbers of a host's first pod address and of its Node's address. */
const POD = 1100;
const NODE = 3075;

function nodeOf({ address, cidr, at }: LabHost, n: number): Node {
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name: `node-${n}`,
      creationTimestamp: `2030-01-0${n}T00:00:00Z`,
      labels: { [ENGINE_LABEL]: `engine-${n}` },
      annotations: { [HOST_ADDRESS_ANNOTATION]: address },
    },
    spec: { podCIDR: cidr, podCIDRs: [cidr] },
    status: { addresses: [{ type: 'InternalIP', address: at(NODE) }] },
  };
}

/** Three hosts that know each other, each with a pod that listens at port 8080. The tests run in their order. */
const lab = new Lab();
let hostA: LabHost, hostB: LabHost, hostC: LabHost;
let first: Place, second: Place, third: Place, neighbour: Place, outsider: Place;
const nodes: Node[] = [];
const before: string[] = [];

beforeAll(async () => {
  await lab.open();
  hostA = await lab.host(1);
  hostB = await lab.host(2);
  hostC = await lab.host(3);
  const hosts = [hostA, hostB, hostC];
  for (const host of hosts) before.push(`${await host.state()}${await host.rules()}`);
  nodes.push(...hosts.map((host, index) => nodeOf(host, index + 1)));
  for (const host of hosts) host.start();
  for (const node of nodes) take(NODES, node);
  first = await hostA.pod(POD);
  second = await hostB.pod(POD);
  third = await hostC.pod(POD);
  neighbour = await hostA.pod(POD + 1);
  outsider = await lab.outsider(99);
  for (const one of [first, second, third, neighbour, outsider]) await one.listen(8080);
});

afterAll(async () => {
  await lab.close();
});

function take(resource: Resource, object: KubeObject | undefined, old?: KubeObject): void {
  for (const host of [hostA, hostB, hostC]) host.take(resource, object, old);
}

async function reaches(from: Place, to: string, port = 8080): Promise<void> {
  await expect.poll(() => from.try(to, port), WAIT).not.toBe('failed');
}

/** Returns a pod of a host's Node, as its agent reports it. */
function podOf(name: string, { address }: Place, n: number, labels: Record<string, string>): Pod {
  const one = pod(name, address, labels);
  return { ...one, spec: { containers: [], nodeName: `node-${n}` } };
}

test('pods of three hosts reach each other with their own addresses, over a path that takes smaller packets than they send', async () => {
  const pods = [first, second, third];
  for (const from of pods) {
    for (const to of pods) {
      if (from === to) continue;
      await reaches(from, to.address);
      expect(await from.reach(to.address, 8080, 1_000_000)).toBe(from.address);
    }
  }
  expect(await hostA.ip('link', 'show', TUNNEL)).toContain(' mtu 1350 ');
  // A datagram that does not fit is recognized as too long after the first try. Then it is sent in parts.
  const long = Buffer.from('x'.repeat(1400));
  await expect
    .poll(async () => {
      await first.send(second.address, 8080, long);
      return await second.received();
    }, WAIT)
    .toContain(`${first.address} ${long.toString()}`);
  // Packets of a host's programs have its address on the bridge.
  const program = await hostA.run(
    process.execPath,
    '-e',
    `require('net').connect(8080, '${second.address}').once('data', (d) => { console.log(String(d)); process.exit(); })`,
  );
  expect(program.trim()).toBe(hostA.at(1));
});

test('Services lead to endpoints of other hosts: clients keep their addresses, and those from outside get replies', async () => {
  const ports = [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30_080 }];
  // The Service has session affinity, because the oldest supported packet filter lacks the maps of Services without affinity.
  const web = service({ type: 'NodePort', sessionAffinity: 'ClientIP', ports });
  take(SERVICES, web);
  take(ENDPOINT_SLICES, slice([endpoint(second.address, { nodeName: 'node-2' })]));
  for (const client of [first, second, third]) await reaches(client, '10.96.0.10', 80);
  expect(await first.reach('10.96.0.10', 80)).toBe(first.address);
  expect(await third.reach('10.96.0.10', 80)).toBe(third.address);
  // A pod reaches itself.
  expect(await second.reach('10.96.0.10', 80)).toBe(hostB.at(1));
  // The NodePort is at another host's Node, and that host translates.
  await hostB.ip('address', 'add', `${hostB.at(NODE)}/32`, 'dev', 'gtp-lab');
  await reaches(first, hostB.at(NODE), 30_080);
  expect(await first.reach(hostB.at(NODE), 30_080)).toBe(first.address);
  // The client is in another network. The packets continue to the other host, and the replies take the same way back.
  await reaches(outsider, hostA.address, 30_080);
  expect(await outsider.reach(hostA.address, 30_080)).toBe(hostA.at(1));
  const local = service({ ...web.spec, externalTrafficPolicy: 'Local' });
  take(SERVICES, local, web);
  await expect.poll(() => outsider.try(hostA.address, 30_080), WAIT).toBe('failed');
  await expect.poll(() => outsider.try(hostB.address, 30_080), WAIT).toBe(outsider.address);
});

test('policies judge packets between hosts by the addresses of pods, where they begin and where they end', async () => {
  await reaches(neighbour, second.address);
  take(PODS, podOf('client', first, 1, { app: 'client' }));
  take(PODS, podOf('stranger', neighbour, 1, { app: 'stranger' }));
  take(PODS, podOf('server', second, 2, { app: 'server' }));
  const ingress: NetworkPolicySpec = {
    podSelector: { matchLabels: { app: 'server' } },
    policyTypes: ['Ingress'],
    ingress: [{ from: [{ podSelector: { matchLabels: { app: 'client' } } }] }],
  };
  take(NETWORK_POLICIES, networkPolicy(ingress));
  await expect.poll(() => neighbour.try(second.address, 8080), WAIT).toBe('failed');
  expect(await first.reach(second.address, 8080)).toBe(first.address);
  const egress: NetworkPolicySpec = { podSelector: { matchLabels: { app: 'client' } }, policyTypes: ['Egress'] };
  take(NETWORK_POLICIES, networkPolicy(egress, 'none'));
  await expect.poll(() => first.try(second.address, 8080), WAIT).toBe('failed');
  take(NETWORK_POLICIES, undefined, networkPolicy(egress, 'none'));
  take(NETWORK_POLICIES, undefined, networkPolicy(ingress));
  await reaches(first, second.address);
  await reaches(neighbour, second.address);
});

test("a pod sends no packet to other hosts with an address outside of its host's range", async () => {
  await reaches(first, second.address);
  await lab.addAddress(first, '192.0.2.77');
  await first.send(second.address, 8080, Buffer.from('spoofed'), '192.0.2.77');
  await first.send(second.address, 8080, Buffer.from('own'), first.address);
  await expect.poll(() => second.received(), WAIT).toContain(`${first.address} own`);
  expect((await second.received()).filter((line) => line.endsWith('spoofed'))).toEqual([]);
});

test('hosts with a cut link do not reach each other, and do again once the link is up', async () => {
  await reaches(first, second.address);
  await hostA.ip('link', 'set', 'eth0', 'down');
  expect(await first.try(second.address, 8080)).toBe('failed');
  expect(await second.try(first.address, 8080)).toBe('failed');
  expect(await first.reach(neighbour.address, 8080)).toBe(first.address);
  await hostA.ip('link', 'set', 'eth0', 'up');
  await reaches(first, second.address);
  await reaches(second, first.address);
});

test.each([
  ['the rules', ['nft', 'delete', 'table', 'ip', 'gantry-lab']],
  ['the device', ['ip', 'link', 'delete', TUNNEL]],
  ['routes', ['ip', 'route', 'flush', 'dev', TUNNEL]],
  ['neighbours', ['ip', 'neighbour', 'flush', 'nud', 'permanent', 'dev', TUNNEL]],
  ['forwarding entries', ['bridge', 'fdb', 'delete', '02:67:0a:80:10:00', 'dev', TUNNEL, 'dst', '192.0.2.2', 'self']],
  ['the state of the link', ['ip', 'link', 'set', TUNNEL, 'down']],
])('%s that others take away are written again', async (_, command) => {
  await reaches(first, second.address);
  const state = await hostA.state();
  await hostA.run(...command);
  await expect.poll(() => hostA.state(), WAIT).toBe(state);
  await reaches(first, second.address);
  await reaches(second, first.address);
});

test('packets of the tunnel are taken from known hosts alone, and from each with addresses of its own range', async () => {
  for (const from of [second, third]) await reaches(from, first.address);
  // The third host turns hostile: its own proxy is gone, and with it the socket of the tunnel.
  await hostC.remove();
  const hostile = lab.on(hostC);
  const linkAddress = '02:67:0a:80:00:00';
  const inner = (source: string, text: string, destination = first.address) => ({
    source,
    destination,
    port: 8080,
    text,
  });
  const attempt = async (from: Place, packet: ReturnType<typeof inner>, type?: number) =>
    await from.send(hostA.address, 4789, vxlanPayload(VNI, linkAddress, packet, type));
  await attempt(outsider, inner(second.address, 'from outside as a pod'));
  await attempt(outsider, inner('192.0.2.99', 'from outside as itself'));
  await attempt(hostile, inner(second.address, "as another host's pod"));
  await attempt(hostile, inner(hostA.at(5), 'as a container of the control plane'));
  await attempt(hostile, inner(hostA.at(POD + 1), 'as a pod of the same host'));
  await attempt(hostile, inner('192.0.2.99', 'as another machine'));
  await attempt(hostile, inner(third.address, 'to another network', '192.0.2.99'));
  // A packet counts as refused when a later packet has arrived.
  const arrives = async (text: string) =>
    await expect
      .poll(async () => {
        await attempt(hostile, inner(third.address, text));
        return await first.received();
      }, WAIT)
      .toContain(`${third.address} ${text}`);
  await arrives('as its own pod');
  expect((await first.received()).filter((line) => !line.endsWith('as its own pod'))).toEqual([]);
  expect(await outsider.received()).toEqual([]);
  // A host that leaves is no known host any more.
  for (const host of [hostA, hostB]) host.take(NODES, undefined, nodes[2]);
  await expect.poll(() => hostA.run('bridge', 'fdb', 'show', 'dev', TUNNEL), WAIT).not.toContain(hostC.address);
  await expect.poll(() => hostA.ip('route', 'show', 'dev', TUNNEL), WAIT).not.toContain(hostC.cidr);
  await attempt(hostile, inner(third.address, 'after its end'));
  await second.send(first.address, 8080, Buffer.from('still there'));
  await expect.poll(() => first.received(), WAIT).toContain(`${second.address} still there`);
  expect(await first.received()).not.toContain(`${third.address} after its end`);
});

test('the tunnel goes with the last other host, and removal leaves rules, links and routes as they were', async () => {
  await reaches(first, second.address);
  hostA.take(NODES, undefined, nodes[1]);
  await expect.poll(() => hostA.ip('-o', 'link', 'show'), WAIT).not.toContain(TUNNEL);
  for (const [index, host] of [hostA, hostB].entries()) {
    await host.remove();
    expect(`${await host.state()}${await host.rules()}`).toBe(before[index]);
  }
});
