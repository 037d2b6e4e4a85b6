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
