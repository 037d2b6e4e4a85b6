import { CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES } from '@gantry/objects';
import { expect, it } from 'vitest';
import { World } from '../world.ts';
import { endpointInvariant } from './endpoints.ts';
import { restViolations } from './rest.ts';
import { owned, play, type Step } from './scripted-world.ts';

const SERVICE: Step = [SERVICES, 's', { spec: { selector: { app: 'a' } } }];
const pod = (ready: boolean): Step => [
  PODS,
  'p',
  {
    metadata: { labels: { app: 'a' } },
    status: { phase: 'Running', podIP: '10.0.0.1', conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }] },
  },
];
const slice = (ready: boolean): Step => [
  ENDPOINT_SLICES,
  's-1',
  {
    metadata: owned('Service', 's'),
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready }, targetRef: { name: 'p', uid: 'p' } }],
  },
];

it('is violated when an endpoint stays ready for more than a minute after its pod', () => {
  const world = new World();
  let now = 0;
  const violations: string[] = [];
  endpointInvariant(() => now).watch(world, (violation) => violations.push(violation));
  play(world, [SERVICE, pod(true), slice(true), pod(false)]);
  now = 50_000;
  play(world, [slice(false), slice(true)]);
  now = 110_000;
  play(world, [[CONFIG_MAPS, 'any', {}]]);
  expect(violations).toEqual([]);
  now = 110_001;
  play(world, [[CONFIG_MAPS, 'any', {}]]);
  play(world, [[CONFIG_MAPS, 'any', {}]]);
  expect(violations).toHaveLength(1);
});

it('is not at rest where slices or Endpoints say other than the pods', () => {
  const endpoints = (part: string): Step => [
    ENDPOINTS,
    's',
    { subsets: [{ [part]: [{ ip: '10.0.0.1', targetRef: { name: 'p' } }] }] },
  ];
  const world = new World();
  play(world, [SERVICE, pod(true), slice(true), endpoints('addresses')]);
  expect(restViolations(world)).toEqual([]);
  play(world, [pod(false)]);
  expect(restViolations(world)).toHaveLength(2);
  play(world, [slice(false)]);
  expect(restViolations(world)).toHaveLength(1);
  play(world, [endpoints('notReadyAddresses')]);
  expect(restViolations(world)).toEqual([]);
});

const ADDRESS = '192.0.2.1';
const MANUAL: Step = [SERVICES, 's', { spec: {} }];
const kept = (ip: string, labels: object = {}): Step => [
  ENDPOINTS,
  's',
  { metadata: { labels }, subsets: [{ addresses: [{ ip }], ports: [{ name: 'http', port: 8080 }] }] },
];
const mirror = (ip: string): Step => [
  ENDPOINT_SLICES,
  's-1',
  {
    metadata: {
      labels: {
        'kubernetes.io/service-name': 's',
        'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
      },
    },
    endpoints: [{ addresses: [ip], conditions: { ready: true } }],
    ports: [{ name: 'http', port: 8080 }],
  },
];

it('is violated when a slice mirrors an address for more than a minute after its Endpoints have lost it', () => {
  const world = new World();
  let now = 0;
  const violations: string[] = [];
  endpointInvariant(() => now).watch(world, (violation) => violations.push(violation));
  play(world, [MANUAL, kept(ADDRESS), mirror(ADDRESS), kept('192.0.2.2')]);
  now = 60_000;
  play(world, [[CONFIG_MAPS, 'any', {}]]);
  expect(violations).toEqual([]);
  now = 60_001;
  play(world, [[CONFIG_MAPS, 'any', {}]]);
  expect(violations).toHaveLength(1);
});

it.each<readonly [name: string, wrong: Step, right: Step]>([
  ['another address', kept('192.0.2.2'), kept(ADDRESS)],
  ['what is not to be mirrored', kept(ADDRESS, { 'endpointslice.kubernetes.io/skip-mirror': 'true' }), kept(ADDRESS)],
  ['Endpoints with another label', kept(ADDRESS, { tier: 'front' }), kept(ADDRESS)],
  ['Endpoints that are gone', [ENDPOINTS, 's', undefined], kept(ADDRESS)],
  ['Endpoints without a Service', [SERVICES, 's', undefined], MANUAL],
])('is not at rest where a slice mirrors %s', (_name, wrong, right) => {
  const world = new World();
  play(world, [MANUAL, kept(ADDRESS), mirror(ADDRESS)]);
  expect(restViolations(world)).toEqual([]);
  play(world, [wrong]);
  expect(restViolations(world)).toHaveLength(1);
  play(world, [right]);
  expect(restViolations(world)).toEqual([]);
});
