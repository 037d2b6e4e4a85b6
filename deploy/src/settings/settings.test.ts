import { expect, test } from 'vitest';
import { chooseSettings, refreshSettings } from './choose-settings.ts';
import { overlaps, parseRoutes } from './ranges.ts';
import { formatSettings, parseSettings } from './settings-file.ts';

const idle = { ranges: [], isPortFree: async () => true };

test('ranges overlap when they share an address', () => {
  expect(overlaps('10.0.0.0/8', '10.128.0.0/20')).toBe(true);
  expect(overlaps('10.128.16.0/20', '10.128.0.0/20')).toBe(false);
  expect(overlaps('192.0.2.7', '192.0.2.0/24')).toBe(true);
});

test('routes of the kernel are read without the default route', () => {
  const text =
    'Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\neth0\t00000000\t010200C0\t3\t0\t0\t0\t00000000\neth0\t000200C0\t00000000\t1\t0\t0\t0\t00FFFFFF\n';
  expect(parseRoutes(text)).toEqual([{ device: 'eth0', cidr: '192.0.2.0/24' }]);
});

test('ranges in use are avoided, and names fit a network interface', async () => {
  const settings = await chooseSettings('/home/someone/gantry/.gantry', {
    ranges: ['10.128.0.0/14', '10.96.0.0/12'],
    isPortFree: async (port) => port > 6_444,
  });
  expect(settings).toMatchObject({ port: 6_445, podCidr: '10.132.0.0/20', serviceCidr: '10.112.0.0/16' });
  expect(settings.podBridge.length).toBeLessThanOrEqual(15);
});

test('two folders get different cluster names', async () => {
  const [one, other] = [await chooseSettings('/a', idle), await chooseSettings('/b', idle)];
  expect(one.clusterId).not.toBe(other.clusterId);
});

test('parsing formatted settings yields the same settings', async () => {
  const settings = await chooseSettings('/a', idle);
  expect(parseSettings(formatSettings(settings, { GANTRY_IMAGE: 'gantry:1' }))).toEqual(settings);
  expect(parseSettings('GANTRY_PORT=1\n')).toBeUndefined();
});

test('only settings in conflict change', async () => {
  const settings = await chooseSettings('/a', idle);
  expect(await refreshSettings(settings, '/a', idle)).toBe(settings);
  const moved = await refreshSettings(settings, '/a', { ...idle, ranges: [settings.podCidr] });
  expect(moved.port).toBe(settings.port);
  expect(moved.podCidr).not.toBe(settings.podCidr);
});
