import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decodeFacts, encodeFacts, formatJoinSettings, joinOptions, valueIn } from './join-settings.ts';

const FACTS = {
  clusterId: 'gantry-a1b2c3',
  port: 6443,
  grpcPort: 16_443,
  serviceCidr: '10.96.0.0/16',
  clusterCidr: '10.128.0.0/16',
  controlCidr: '10.128.240.0/24',
  authority: '-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n',
};
const VALUES = { server: '192.0.2.1', token: 'abcdef.0123456789abcdef', cluster: encodeFacts(FACTS) };

describe('the options of join', () => {
  it('are those that token prints', () => {
    expect(decodeFacts(encodeFacts(FACTS))).toEqual(FACTS);
    expect(joinOptions(VALUES)).toEqual({
      server: '192.0.2.1',
      token: VALUES.token,
      facts: FACTS,
      address: '',
      name: '',
    });
  });

  it.each([
    [{ server: undefined }, '--server: "" is not the IPv4 address of the first host'],
    [{ server: 'https://192.0.2.1:6443' }, '--server: "https://192.0.2.1:6443" is not the IPv4 address'],
    [{ token: 'abc' }, '--token has not the form'],
    [{ cluster: 'abc' }, '--cluster is not what `npm run token` prints'],
    [{ cluster: encodeFacts({ ...FACTS, clusterId: '../x' }) }, '--cluster is not what'],
    [{ cluster: encodeFacts({ ...FACTS, port: '6443' as never }) }, '--cluster is not what'],
    [{ cluster: encodeFacts({ ...FACTS, serviceCidr: '${HOME}' }) }, '--cluster is not what'],
    [{ address: 'host' }, '--address: "host" is not an IPv4 address'],
    [{ address: '192.0.2.1' }, "--address: 192.0.2.1 is the first host's own"],
    [{ name: 'Big Host' }, '--name: "Big Host" is not a name'],
  ])('%j are refused by name', (changes, message) => {
    expect(() => joinOptions({ ...VALUES, ...changes })).toThrow(message);
  });
});

describe('the settings of a joined host', () => {
  const settings = {
    options: joinOptions({ ...VALUES, name: 'big' }),
    address: '192.0.2.2',
    home: '/checkout/.gantry/join',
    image: 'gantry:1',
    engineRoot: '/var/lib/docker',
    engineSocket: '/var/run/docker.sock',
  };

  it('have the range of its pods and the quarter of it for containers', () => {
    const text = formatJoinSettings({ ...settings, podCidr: '10.128.16.0/20' }, '');
    expect(valueIn(text, 'GANTRY_POD_CIDR')).toBe('10.128.16.0/20');
    expect(valueIn(text, 'GANTRY_POD_SERVICES_RANGE')).toBe('10.128.16.0/22');
    expect(valueIn(text, 'GANTRY_POD_BRIDGE')).toBe('gtp-a1b2c3');
    expect(valueIn(text, 'GANTRY_HOST_ADDRESS')).toBe('192.0.2.2');
    expect(valueIn(text, 'GANTRY_ABSENT')).toBe('');
  });

  it('keep the variables that the user has added', () => {
    const before = formatJoinSettings({ ...settings, podCidr: '' }, 'GANTRY_NODE_LABELS=zone=a\n');
    const text = formatJoinSettings({ ...settings, podCidr: '10.128.16.0/20' }, before);
    expect(text.match(/^GANTRY_NODE_LABELS=.*$/gm)).toEqual(['GANTRY_NODE_LABELS=zone=a']);
    expect(text.match(/^GANTRY_POD_CIDR=.*$/gm)).toEqual(['GANTRY_POD_CIDR=10.128.16.0/20']);
  });

  it('have no range before it is assigned', () => {
    expect(valueIn(formatJoinSettings({ ...settings, podCidr: '' }, ''), 'GANTRY_POD_SERVICES_RANGE')).toBe('');
  });
});

function agentOf(file: string): string {
  const text = readFileSync(join(import.meta.dirname, '../../..', file), 'utf8');
  return /^ {2}agent:\n([^]*?)^ {2}[a-z#]/m.exec(text)?.[1] ?? '';
}

/** The settings of the agents in a Compose file, as `NAME: VALUE`, that come from the environment of the command. */
function agentSettings(file: string): readonly string[] {
  return [...agentOf(file).matchAll(/^ {6}(GANTRY_\w+: \$\{.*)$/gm)].map(([, setting = '']) => setting).toSorted();
}

/** What the agents in a Compose file may do. */
function agentRights(file: string): Readonly<Record<string, readonly string[]>> {
  const lists = agentOf(file).matchAll(/^ {4}(cap_add|security_opt|device_cgroup_rules|pid): (.*)$/gm);
  return Object.fromEntries(
    [...lists].map(([, name = '', items = '']) => [
      name,
      items
        .replaceAll(/[[\]"]/g, '')
        .split(', ')
        .toSorted(),
    ]),
  );
}

it('agents of a host that joins have every setting that those of the first host have', () => {
  const first = agentSettings('docker-compose.yml').filter((setting) => !setting.startsWith('GANTRY_HOST_ADDRESS'));
  expect(first.length).toBeGreaterThan(15);
  expect(agentSettings('deploy/compose/join.yml')).toEqual(first);
});

it('agents of a host that joins have every right that those of the first host have', () => {
  const first = agentRights('docker-compose.yml');
  expect(Object.keys(first)).toHaveLength(4);
  expect(agentRights('deploy/compose/join.yml')).toEqual(first);
});
