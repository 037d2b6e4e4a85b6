import { expect, test } from 'vitest';
import { BridgePorts } from './hairpin.ts';

const line = (index: number, name: string, master: string) =>
  `${index}: ${name}@if4: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc noqueue${master} state UP group default \\    link/ether 1a:2b`;

test('each port of the bridge is found once, and again when its number is given to another', () => {
  const ports = new BridgePorts('gtp-a');
  expect(ports.take(line(7, 'veth1', ' master gtp-a'))).toBe('veth1');
  expect(ports.take(line(7, 'veth1', ' master gtp-a'))).toBeUndefined();
  expect(ports.take(line(8, 'veth2', ' master gtp-b'))).toBeUndefined();
  expect(ports.take(line(9, 'veth3', ''))).toBeUndefined();
  expect(ports.take(line(9, 'veth3', ' master gtp-a'))).toBe('veth3');
  expect(ports.take(`Deleted ${line(7, 'veth1', ' master gtp-a')}`)).toBeUndefined();
  expect(ports.take(line(7, 'veth9', ' master gtp-a'))).toBe('veth9');
});
