import { describe, expect, it } from 'vitest';
import { isAgentError } from '../runtime/agent-error.ts';
import type { SelfContainer } from '../runtime/agent-containers.ts';
import { engineName, nodeName, numberOf } from './node-identity.ts';
import { hostPathOf, nodeAddress } from './self.ts';

const self = (compose?: SelfContainer['compose']): SelfContainer => ({
  id: 'abc',
  image: 'sha256:1',
  ...(compose === undefined ? {} : { compose }),
  mounts: [
    { containerPath: '/var/lib', hostPath: '/elsewhere' },
    { containerPath: '/var/lib/gantry', hostPath: '/var/lib/docker/volumes/state/_data' },
  ],
  addresses: {},
  gateways: {},
});
const service = { project: 'p', service: 'agent', number: 2, kind: 'service' } as const;

describe('the identity of a node', () => {
  it.each([
    ['vm', 'vm-2'],
    ['My_Laptop.local', 'my-laptop.local-2'],
    ['-', 'node-2'],
    [`${'x'.repeat(70)}`, `${'x'.repeat(55)}-2`],
  ])('turns %s into %s', (host, name) => {
    expect(nodeName(host, self(service))).toBe(name);
    expect(numberOf(name, host)).toBe(2);
  });

  it('finds no number in the names of other hosts', () => {
    expect(numberOf('other-2', 'vm')).toBeUndefined();
    expect(numberOf('vm-x', 'vm')).toBeUndefined();
    expect(numberOf('vm-02', 'vm')).toBeUndefined();
  });

  it.each([
    { compose: undefined },
    { compose: { ...service, kind: 'one-off' as const } },
    { compose: { ...service, number: Number.NaN } },
  ])('refuses a container made by $compose', ({ compose }) => {
    expect(() => nodeName('vm', self(compose))).toThrow(expect.toSatisfy((error) => isAgentError(error, 'Identity')));
  });

  it('makes engine names of both id formats valid labels', () => {
    expect(engineName('I4VY:2TQJ:KUKN:JNE3')).toBe('i4vy-2tqj-ku');
    expect(engineName('0b5f2a3c-1d2e-4f5a')).toBe('0b5f2a3c-1d2');
  });

  it('finds a folder on the host by the mount that contains it', () => {
    expect(hostPathOf('/var/lib/gantry/nodes', self())).toBe('/var/lib/docker/volumes/state/_data/nodes');
    expect(() => hostPathOf('/tmp', self())).toThrow('GANTRY_STATE_DIR');
  });

  it('has an address that the host gives it, by the address of the container', () => {
    const settings = {
      nodeName: '',
      nodeAddress: '',
      podNetwork: 'pods',
      podCidr: '10.128.0.0/20',
      stateDir: '',
      keyDir: '',
    };
    const at = (address: string) => ({ ...self(), addresses: { pods: address } });
    expect(nodeAddress(settings, at('10.128.0.7'))).toBe('10.128.12.7');
    expect(nodeAddress(settings, at('10.128.4.1'))).toBe('10.128.4.1');
    for (const container of [undefined, self(), at('')])
      expect(() => nodeAddress(settings, container)).toThrow('GANTRY_POD_NETWORK');
  });
});
