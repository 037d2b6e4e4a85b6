import { expect, test } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { chooseSettings } from './choose-settings.ts';
import { readInUse } from './in-use.ts';

const OWN = { clusterId: 'gantry-own', networks: ['gantry-own-pods'], bridges: ['gtp-own'], ports: [] };

/** The environments of the proxies on an engine, which has the default bridge only. */
function engineWith(proxies: readonly (readonly string[])[], volumes = ''): Shell {
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
      return { code: 0, stdout, stderr: '' };
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
