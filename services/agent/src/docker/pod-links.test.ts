import type Docker from 'dockerode';
import { systemClock } from '@gantry/base';
import DockerClient from 'dockerode';
import { expect, it } from 'vitest';
import { groupReader } from './cgroup-stats.ts';
import { EngineCalls } from './engine-calls.ts';
import type { PodBridge } from './pod-bridge.ts';
import { connectCommands, PodLinks, portName } from './pod-links.ts';

const BRIDGE: PodBridge = {
  name: 'br0',
  kernelIpv6: 'absent',
  gateway: '10.128.0.1',
  prefix: 20,
  mtu: 1450,
  index: 17,
  hostPid: 42,
  assigned: new Set(),
};

it("a pod's port is unique on its host, its link address is its own each time, and its port joins the bridge at last", () => {
  expect(portName('10.128.4.255')).toBe('gp0a8004ff');
  expect(connectCommands(BRIDGE, '10.128.4.255')).toEqual({
    inPod: [
      'link add name gp0a8004ff mtu 1450 netns 42 type veth peer name eth0 mtu 1450 address 02:42:0a:80:04:ff',
      'link set lo up',
      'address add 10.128.4.255/20 broadcast + dev eth0',
      'link set eth0 up',
      'route add default via 10.128.0.1',
    ],
    onHost: 'link set gp0a8004ff master if17 up',
  });
});

it.each([
  ['a running sandbox whose bridge is gone is not connected', { Running: true, Pid: 1 }, '10.1.0.2', false],
  ['a sandbox that has ended needs no link', { Running: false, Pid: 0 }, '10.1.0.2', true],
  ['a sandbox that the engine has connected needs no link', { Running: true, Pid: 1 }, undefined, true],
])('%s', async (_what, state, address, connected) => {
  const calls = new EngineCalls(new DockerClient({ socketPath: '/nonexistent' }), systemClock);
  const links = new PodLinks(calls, groupReader('/nonexistent'));
  const labels = address === undefined ? {} : { 'gantry.address': address, 'gantry.bridge': 'gone-for-ever' };
  const sandbox = { State: state, Config: { Labels: labels } } as Docker.ContainerInspectInfo;
  expect(await links.isConnected(sandbox)).toBe(connected);
});
