import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished, expect, test } from 'vitest';
import { settingsFileOf } from '../cluster/compose.ts';
import { CommandError } from '../machine/command-error.ts';
import type { Shell } from '../machine/shell.ts';
import { checkSettings } from './check-settings.ts';
import { chooseSettings, type GivenSettings, NoRoomError, refreshSettings, type Settings } from './choose-settings.ts';
import { ensureSettings } from './ensure-settings.ts';
import { formatSettings } from './settings-file.ts';

const idle = { ranges: [], own: [], hasData: false, isPortFree: async () => true };

/** An engine without containers and networks. */
const SHELL: Shell = { run: () => Promise.resolve({ code: 0, stdout: '', stderr: '' }) };

/** Ranges for documentation: no route of the machine that runs the tests leads there. */
const UNUSED = { podCidr: '203.0.113.0/24', controlCidr: '198.51.100.0/24' };

/** `up` with these variables, after one that has saved settings with these changes. */
async function upAgain(saved: Partial<Settings>, given: Partial<GivenSettings>): Promise<Settings> {
  const home = mkdtempSync(join(tmpdir(), 'gantry-settings-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const config = { root: home, home, homeKind: 'elsewhere', overlays: [] } as const;
  writeFileSync(
    settingsFileOf(config),
    formatSettings({ ...(await chooseSettings(home, idle)), ...UNUSED, ...saved }, {}),
  );
  return ensureSettings(config, SHELL, given);
}

test.each<[string, Partial<Settings>, Partial<GivenSettings>]>([
  ['given', {}, { clusterCidr: '10.0.0.0/16' }],
  ['saved', { clusterCidr: '10.0.0.0/16' }, {}],
])('a range of the cluster without the range of pods is refused when it is %s', async (_, saved, given) => {
  const error = await upAgain(saved, given).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(CommandError);
  expect(error).toMatchObject({
    message:
      "GANTRY_CLUSTER_CIDR: 10.0.0.0/16 does not contain 203.0.113.0/24, the range of this host's pods (GANTRY_POD_CIDR)",
    fix: expect.stringContaining('GANTRY_CLUSTER_CIDR= npm run up'),
  });
});

test('a range of the cluster can be taken back, and one that contains the range of pods is kept', async () => {
  const { podCidr } = UNUSED;
  const back = await upAgain({ clusterCidr: '10.0.0.0/16' }, { clusterCidr: '' });
  expect(back).toMatchObject({ podCidr, clusterCidr: '' });
  expect(await upAgain({ clusterCidr: '203.0.0.0/8' }, {})).toMatchObject({
    podCidr,
    clusterCidr: '203.0.0.0/8',
  });
});

test('the range of pods is chosen inside of the range of the cluster', async () => {
  const given = { clusterCidr: '172.16.0.0/12' };
  const settings = await chooseSettings('/a', idle, given);
  expect(settings).toMatchObject({ podCidr: '172.20.0.0/20', ...given });
  const moved = await refreshSettings(settings, '/a', { ...idle, ranges: [settings.podCidr] });
  expect(moved).toMatchObject({ podCidr: '172.21.0.0/20', ...given });
  const tooSmall = chooseSettings('/a', idle, { clusterCidr: '192.168.0.0/16' });
  await expect(tooSmall).rejects.toThrow('GANTRY_CLUSTER_CIDR: 192.168.0.0/16 contains no free range for pods');
  await expect(tooSmall).rejects.toBeInstanceOf(NoRoomError);
});

test('a port in use does not need another range', async () => {
  const settings = await chooseSettings('/a', idle, { clusterCidr: '10.128.0.0/16' });
  const inUse = { ...idle, ranges: ['10.128.64.0/20'], isPortFree: async (port: number) => port !== settings.port };
  expect(await refreshSettings(settings, '/a', inUse)).toEqual({ ...settings, port: settings.port + 1 });
});

test.each<[Partial<Settings>, string]>([
  [{ clusterCidr: 'all' }, 'GANTRY_CLUSTER_CIDR: "all" is not an IPv4 range'],
  [{ clusterCidr: '10.128.0.0/33' }, 'GANTRY_CLUSTER_CIDR: "10.128.0.0/33" is not an IPv4 range'],
  [{ podCidr: '10.128.0.0' }, 'GANTRY_POD_CIDR: "10.128.0.0" is not an IPv4 range'],
  [{ controlCidr: 'x/8' }, 'GANTRY_CONTROL_CIDR: "x/8" is not an IPv4 range'],
  [{ serviceCidr: '10.96.0.0/' }, 'GANTRY_SERVICE_CIDR: "10.96.0.0/" is not an IPv4 range'],
  [{ clusterCidr: '10.128.0.0/24' }, 'GANTRY_CLUSTER_CIDR: 10.128.0.0/24 does not contain 10.128.0.0/20'],
  [{ clusterCidr: '0.0.0.0/3' }, 'GANTRY_CLUSTER_CIDR: 0.0.0.0/3 has more than 65536 ranges'],
  [{ hostAddress: '10.128.99.1' }, 'GANTRY_HOST_ADDRESS: other hosts do not reach this one at 10.128.99.1'],
  [{ hostAddress: '10.96.0.1' }, 'GANTRY_HOST_ADDRESS: other hosts do not reach this one at 10.96.0.1'],
  [{ hostAddress: '127.0.0.1' }, 'GANTRY_HOST_ADDRESS: other hosts do not reach this one at 127.0.0.1'],
])('settings with which services do not start are refused: %o', async (changes, message) => {
  const settings = { ...(await chooseSettings('/a', idle)), ...changes };
  expect(() => checkSettings(settings)).toThrow(message);
});

test('settings that were chosen are not refused, nor an address of a host', async () => {
  const settings = await chooseSettings('/a', idle);
  for (const changes of [
    {},
    { hostAddress: '192.0.2.1' },
    { clusterCidr: '10.128.0.0/20' },
    { clusterCidr: '10.0.0.0/4' },
  ])
    expect(() => checkSettings({ ...settings, ...changes })).not.toThrow();
});
