import { expect, it } from 'vitest';
import { forwardServers, nameServers } from './resolv-conf.ts';

it.each([
  ['', []],
  ['# nameserver 1.1.1.1\nsearch example.com\nnameserver 9.9.9.9\n', ['9.9.9.9']],
  ['nameserver\t8.8.8.8  \nnameserver fd00::1\n', ['8.8.8.8', 'fd00::1']],
  ['nameserver host.example.com\nnameserver 256.1.1.1\n', []],
  ['nameserver 1.0.0.1\nnameserver 1.0.0.2\nnameserver 1.0.0.3\nnameserver 1.0.0.4', ['1.0.0.1', '1.0.0.2', '1.0.0.3']],
])('reads the servers of %j', (text, servers) => {
  expect(nameServers(text)).toEqual(servers);
});

const isOwn = (address: string) => address.startsWith('10.96.');

it.each([
  ['those of the host', 'nameserver 192.168.1.1', 'nameserver 127.0.0.11', ['192.168.1.1']],
  ['the engine where the host asks itself', 'nameserver 127.0.0.53', 'nameserver 127.0.0.11', ['127.0.0.11']],
  ['the engine where the host has no file', '', 'nameserver 127.0.0.11', ['127.0.0.11']],
  ['never the DNS of the cluster', 'nameserver 10.96.0.10\nnameserver 192.168.1.1', '', ['192.168.1.1']],
  ['none rather than itself', 'nameserver 10.96.0.10', 'nameserver 10.96.0.10', []],
])('forwards to %s', (_, host, container, servers) => {
  expect(forwardServers(host, container, isOwn)).toEqual(servers);
});
