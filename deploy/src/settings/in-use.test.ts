import { expect, test } from 'vitest';
import type { Shell, ShellResult } from '../machine/shell.ts';
import { chooseSettings } from './choose-settings.ts';
import { readInUse } from './in-use.ts';

const OWN = { clusterId: 'gantry-own', networks: ['gantry-own-pods'], bridges: ['gtp-own'], ports: [] };

/** The environments of the proxies on an engine, which has the default bridge only. */
function engineWith(
  proxies: readonly (readonly string[])[],
  volumes = '',
  ofNetworks: Omit<ShellResult, 'stdout'> = { code: 0, stderr: '' },
): Shell {
  const answers: Readonly<Record<string, string>> = {
    'network ls': 'b1\n',
    'network inspect': 'bridge 192.0.2.0/24\n',
    'volume ls': volumes,
    'ps -aq': proxies.map((_, at) => `p${at}\n`).join(''),
    'inspect --format': proxies.map((environment) => `${JSON.stringify(environment)}\n`).join(''),
  };
  return {
    run: async (_, args) => {
      const stdout = answers[args.slice(0, 2).join(' ')];
      if (stdout === undefined) throw new RangeError(`no answer to docker ${args.join(' ')}`);
      return { code: 0, stderr: '', ...(args[0] === 'network' && args[1] === 'inspect' ? ofNetworks : {}), stdout };
    },
  };
}

test('the Service range of each other cluster of the engine is in use, not that of this one', async () => {
  const inUse = await readInUse(
    engineWith([
      ['GANTRY_CLUSTER_ID=gantry-own', 'GANTRY_SERVICE_CIDR=10.97.0.0/16'],
      ['PATH=/bin', 'A=b=c', 'GANTRY_CLUSTER_ID=gantry-one', 'GANTRY_SERVICE_CIDR=10.96.0.0/16'],
      ['GANTRY_CLUSTER_ID=gantry-two', 'GANTRY_SERVICE_CIDR=10.98.0.0/15'],
      ['OF=something else'],
    ]),
    OWN,
  );
  expect(inUse.ranges).toEqual(expect.arrayContaining(['192.0.2.0/24', '10.96.0.0/16', '10.98.0.0/15']));
  expect(inUse.ranges).not.toContain('10.97.0.0/16');
  const alone = { ...inUse, isPortFree: async () => true };
  expect((await chooseSettings('/a', alone)).serviceCidr).toBe('10.97.0.0/16');
});

test.each([
  ['gantry-own_etcd-0\n', true],
  ['', false],
])('the cluster has data where its first volume is: %j', async (volumes, hasData) => {
  expect((await readInUse(engineWith([], volumes), OWN)).hasData).toBe(hasData);
});

test.each([
  'Error: No such network: 1f2e3d4c5b6a\n',
  'Error response from daemon: network 1f2e3d4c5b6a not found\nError response from daemon: network 0a1b not found\n',
])('a network that was removed after it was listed is left out: %j', async (stderr) => {
  expect((await readInUse(engineWith([], '', { code: 1, stderr }), OWN)).ranges).toContain('192.0.2.0/24');
});

test.each(['network 0a1b not found\ncontext deadline exceeded\n', ''])(
  'an engine that cannot inspect networks is no engine without networks: %j',
  async (stderr) => {
    await expect(readInUse(engineWith([], '', { code: 1, stderr }), OWN)).rejects.toThrow(
      `docker network inspect failed (1): ${stderr.trim()}`,
    );
  },
);
