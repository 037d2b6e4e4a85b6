import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { expect, it, onTestFinished } from 'vitest';
import { createTestNetwork, type TestNetworkOptions } from './test-network.ts';

const docker = new Docker({ socketPath: '/var/run/docker.sock' });

async function networkOf(options: Omit<TestNetworkOptions, 'name'>) {
  const made = await createTestNetwork(docker, { name: `subnet-${randomBytes(4).toString('hex')}`, ...options });
  onTestFinished(() => made.network.remove());
  return made;
}

it('networks that begin with the same subnet get one each, at the same time too', async () => {
  const first = 1023;
  const made = [await networkOf({ first }), ...(await Promise.all([1, 2, 3].map(() => networkOf({ first }))))];
  expect(new Set(made.map(({ subnet }) => subnet)).size).toBe(4);
  for (const { network, subnet, address } of made) {
    expect(await network.inspect()).toMatchObject({ IPAM: { Config: [{ Subnet: subnet }] } });
    expect(`${address(0)}/24`).toBe(subnet);
  }
});

it('an error of the engine that is not about the subnet is thrown', async () => {
  const driver = { 'com.docker.network.driver.mtu': 'none' };
  await expect(createTestNetwork(docker, { name: 'refused', driver })).rejects.toThrow(/mtu/);
});
