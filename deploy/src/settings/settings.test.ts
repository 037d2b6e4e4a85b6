import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatIpv4, podAddresses } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { chooseSettings, misplaced, namesOf, networksOf, refreshSettings } from './choose-settings.ts';
import { storeSettings } from './ensure-settings.ts';
import { readGivenSettings } from './given-settings.ts';
import { factsOf } from './join-settings.ts';
import { overlaps, parseRoutes } from './ranges.ts';
import { formatSettings, parseSettings } from './settings-file.ts';

const idle = { ranges: [], own: [], hasData: false, isPortFree: async () => true };

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
    ...idle,
    ranges: ['10.128.0.0/14', '10.96.0.0/12'],
    isPortFree: async (port) => port > 6_444,
  });
  expect(settings).toMatchObject({ port: 6_445, podCidr: '10.132.0.0/20', serviceCidr: '10.112.0.0/16' });
  expect(settings.podBridge.length).toBeLessThanOrEqual(15);
});

test('the engine chooses addresses for services in the part of the range that is for containers', async () => {
  const { podCidr, podServicesRange } = await chooseSettings('/a', idle);
  const { first, last } = podAddresses(podCidr)?.containers ?? { first: 0, last: 0 };
  expect([podServicesRange, last - first + 1]).toEqual([`${formatIpv4(first)}/22`, 2 ** (32 - 22)]);
});

test('two folders get different cluster names', async () => {
  const [one, other] = [await chooseSettings('/a', idle), await chooseSettings('/b', idle)];
  expect(one.clusterId).not.toBe(other.clusterId);
});

test('networks that an earlier cluster of the folder has left are used again', async () => {
  const { clusterId } = namesOf('/a');
  const { control, pods } = networksOf(clusterId);
  const own = [
    { name: control, subnets: ['10.131.240.0/24'] },
    { name: pods, subnets: ['10.131.0.0/20'] },
  ];
  const left = await chooseSettings('/a', { ...idle, own });
  expect(left).toMatchObject({ clusterId, controlCidr: '10.131.240.0/24', podCidr: '10.131.0.0/20' });
  expect(misplaced(left, { ...idle, own })).toEqual([]);
  const one = await chooseSettings('/a', { ...idle, own: own.slice(1) });
  expect(one.controlCidr, 'beside the one that is left').toBe('10.131.240.0/24');
});

test('networks that are left have to go where others use their range now', async () => {
  const { control, pods } = networksOf(namesOf('/a').clusterId);
  const own = [
    { name: control, subnets: ['10.131.240.0/24'] },
    { name: pods, subnets: ['10.131.0.0/20'] },
  ];
  const inUse = { ...idle, ranges: ['10.131.0.0/24'], own };
  const chosen = await chooseSettings('/a', inUse);
  expect(chosen.podCidr).toBe('10.128.0.0/20');
  expect(misplaced(chosen, inUse).map(({ name }) => name)).toEqual([control, pods]);
  const moved = await refreshSettings(
    { ...chosen, podCidr: '10.131.0.0/20', controlCidr: '10.131.240.0/24' },
    '/a',
    inUse,
  );
  expect(misplaced(moved, inUse)).toEqual(own);
});

test('parsing formatted settings yields the same settings', async () => {
  const settings = await chooseSettings('/a', idle);
  expect(parseSettings(formatSettings(settings, { GANTRY_IMAGE: 'gantry:1' }))).toEqual(settings);
  expect(parseSettings('GANTRY_PORT=1\n')).toBeUndefined();
});

test('variables that the user adds to the settings stay, and those of `up` change', async () => {
  const root = mkdtempSync(join(tmpdir(), 'settings-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const config = { root, home: join(root, '.gantry'), homeKind: 'checkout', overlays: [] } as const;
  const settings = await chooseSettings('/a', idle);
  storeSettings(config, settings, { services: 'gantry:1', pki: 'pki:1' }, '/docker');
  const file = join(root, '.env');
  appendFileSync(file, 'GANTRY_LEASE_TTL_MS=5000\nGANTRY_EVICTION_HARD=memory.available<5%\n');
  storeSettings(config, { ...settings, port: 7000 }, { services: 'gantry:2', pki: 'pki:1' }, '/docker');
  const text = readFileSync(file, 'utf8');
  const lines = [
    'GANTRY_PORT=7000',
    'GANTRY_LEASE_TTL_MS=5000',
    'GANTRY_EVICTION_HARD=memory.available<5%',
    'GANTRY_IMAGE=gantry:2',
  ];
  for (const line of lines)
    expect(text.split('\n').filter((one) => one.startsWith(`${line.split('=')[0]}=`))).toEqual([line]);
});

test('members of etcd are stored at the first `up`, and an overlay that is given later changes none', async () => {
  const root = mkdtempSync(join(tmpdir(), 'gantry-'));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const config = { root, home: join(root, '.gantry'), homeKind: 'checkout' } as const;
  const settings = await chooseSettings('/a', idle);
  for (const overlays of [[], ['light']]) {
    storeSettings({ ...config, overlays }, settings, { services: 'gantry:1', pki: 'pki:1' }, '/docker');
    const lines = readFileSync(join(root, '.env'), 'utf8').split('\n');
    expect(lines).toContain('GANTRY_ETCD_MEMBERS=etcd-0,etcd-1,etcd-2');
    expect(lines).toContain('GANTRY_ETCD_2_REPLICAS=1');
  }
});

test('only settings in conflict change', async () => {
  const settings = await chooseSettings('/a', idle);
  expect(await refreshSettings(settings, '/a', idle)).toBe(settings);
  const moved = await refreshSettings(settings, '/a', { ...idle, ranges: [settings.podCidr] });
  expect(moved.port).toBe(settings.port);
  expect(moved.podCidr).not.toBe(settings.podCidr);
});

test('a cluster leaves its Service range to another one only while it has no data', async () => {
  const settings = await chooseSettings('/a', idle);
  const shared = { ...idle, ranges: [settings.serviceCidr] };
  expect(await refreshSettings(settings, '/a', { ...shared, hasData: true })).toBe(settings);
  expect(await refreshSettings(settings, '/a', shared)).toEqual({ ...settings, serviceCidr: '10.97.0.0/16' });
  const later = { ...settings, serviceCidr: '10.98.0.0/16' };
  expect(await refreshSettings(later, '/a', idle), 'though the first one is free again').toBe(later);
});

test('settings of an earlier version get ports for Ingresses and the console, and keep the rest', async () => {
  const settings = await chooseSettings('/a', idle);
  const lines = formatSettings(settings, {}).split('\n');
  const earlier = parseSettings(lines.filter((line) => !/INGRESS|CONSOLE/.test(line)).join('\n'));
  expect(earlier).toEqual({ ...settings, ingressHttpPort: 0, ingressHttpsPort: 0, consolePort: 0 });
  const isPortFree = async (port: number) => port !== 8080;
  expect(await refreshSettings(earlier ?? settings, '/a', { ...idle, isPortFree })).toEqual({
    ...settings,
    ingressHttpPort: 8081,
    ingressHttpsPort: 8443,
    consolePort: 8700,
  });
});

test('what was given to up is saved, and a token tells joining hosts of it', async () => {
  const environment = {
    GANTRY_HOST_ADDRESS: '192.0.2.1',
    GANTRY_CLUSTER_CIDR: '10.64.0.0/10',
    GANTRY_JOIN_GRPC_PORT: '26443',
  };
  const chosen = { ...(await chooseSettings('/a', idle)), ...readGivenSettings(environment) };
  const saved = parseSettings(formatSettings(chosen, {})) ?? chosen;
  expect(saved).toEqual({ ...chosen, hostAddress: '192.0.2.1' });
  expect(factsOf(saved, 'PEM')).toMatchObject({ grpcPort: 26_443, clusterCidr: '10.64.0.0/10' });
  expect({ ...saved, ...readGivenSettings({}) }, 'at the next up without the variables').toEqual(saved);
  const takenBack = { ...saved, ...readGivenSettings({ GANTRY_HOST_ADDRESS: '', GANTRY_JOIN_GRPC_PORT: '' }) };
  expect(takenBack).toEqual({ ...saved, hostAddress: '', joinGrpcPort: 16_443 });
});

test('without a range for the pods of all hosts it is the /16 around those of this one', async () => {
  const settings = await chooseSettings('/a', idle);
  expect(factsOf(settings, 'PEM')).toMatchObject({ grpcPort: 16_443, clusterCidr: '10.128.0.0/16' });
});

test.each([
  [{ GANTRY_HOST_ADDRESS: 'host' }, 'GANTRY_HOST_ADDRESS: "host" is not an IPv4 address'],
  [{ GANTRY_CLUSTER_CIDR: '10.64.0.0' }, 'GANTRY_CLUSTER_CIDR: "10.64.0.0" is not an IPv4 range'],
  [{ GANTRY_JOIN_GRPC_PORT: '0' }, 'GANTRY_JOIN_GRPC_PORT: "0" is not a port'],
  [{ GANTRY_JOIN_GRPC_PORT: '1e3' }, 'GANTRY_JOIN_GRPC_PORT: "1e3" is not a port'],
])('what cannot be used is refused: %o', (environment, message) => {
  expect(() => readGivenSettings(environment)).toThrow(message);
});
