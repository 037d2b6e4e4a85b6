import { expect, it } from 'vitest';
import { commandOf, nameOfWrite } from './rest.ts';

it.each([
  ['leases', 'kube-node-lease', 'host-1', 'leases kube-node-lease'],
  ['leases', 'kube-system', 'kube-scheduler', 'leases kube-system/kube-scheduler'],
  ['leases', 'kube-system', 'gantry-host-0123456789abcdef', 'leases kube-system/gantry-host-*'],
  ['nodes', undefined, 'host-12', 'nodes host-*'],
  ['events', 'default', 'web-1.17ab', 'events default'],
])('a write of %s %s/%s is one of %s %s', (resource, namespace, name, line) => {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  expect(nameOfWrite({ resource }, { metadata })).toBe(line);
});

it('of the events of the engine, the starts of commands are counted', () => {
  expect(commandOf('agent exec_start: healthcheck ')).toBe('agent: healthcheck');
  expect(commandOf('agent exec_create: healthcheck ')).toBeUndefined();
  expect(commandOf(' start')).toBeUndefined();
});
