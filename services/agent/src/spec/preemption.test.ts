import type { Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { container, nodeOf, pod } from '../testing/pods.ts';
import { shortagesOf } from './node-fit.ts';
import { planPreemption } from './preemption.ts';

const CRITICAL = 2_000_000_000;

interface Sketch {
  readonly name: string;
  readonly cpu?: string;
  readonly memory?: string;
  readonly priority?: number;
  readonly qosClass?: string;
}

function podOf({ name, cpu, memory, priority = 0, qosClass = 'Burstable' }: Sketch): Pod {
  const requests = { ...(cpu === undefined ? {} : { cpu }), ...(memory === undefined ? {} : { memory }) };
  const containers = [container('main', { resources: { requests } })];
  return pod({ containers, priority }, { qosClass }, { name, uid: name });
}

const small: Sketch = { name: 'small', cpu: '500m', memory: '100Mi' };
const large: Sketch = { name: 'large', cpu: '1500m', memory: '200Mi' };

it.each<{
  readonly name: string;
  readonly asked: Omit<Sketch, 'name'>;
  readonly running: readonly Sketch[];
  readonly cpu?: string;
  readonly expected: readonly string[];
}>([
  { name: 'the smallest that suffices', asked: { cpu: '500m' }, running: [large, small], expected: ['small'] },
  { name: 'one large pod before many small', asked: { cpu: '1200m' }, running: [small, large], expected: ['large'] },
  { name: 'all of them', asked: { cpu: '2' }, running: [small, large], expected: ['large', 'small'] },
  {
    name: 'of a lower QoS class',
    asked: { cpu: '500m' },
    running: [
      { ...small, name: 'guaranteed', qosClass: 'Guaranteed' },
      { ...large, name: 'burstable' },
    ],
    expected: ['burstable'],
  },
  {
    name: 'of a lower priority before a lower QoS class',
    asked: { cpu: '500m' },
    running: [
      { ...small, name: 'low', qosClass: 'Guaranteed' },
      { ...large, name: 'high', priority: 7 },
    ],
    expected: ['low'],
  },
  {
    name: 'none that is critical, too',
    asked: { cpu: '500m' },
    running: [{ ...small, name: 'critical', priority: CRITICAL }, large],
    expected: ['large'],
  },
  {
    name: 'no more than the pod asks for, where the node has become smaller than its pods',
    asked: { cpu: '400m' },
    running: [small, large],
    cpu: '1',
    expected: ['small'],
  },
])('a critical pod takes the place of $name', ({ asked, running, cpu = '2', expected }) => {
  const critical = podOf({ name: 'own', priority: CRITICAL, ...asked });
  const pods = running.map(podOf);
  const found = planPreemption(critical, pods, shortagesOf(critical, nodeOf('n', { cpu }), pods));
  expect(found).toMatchObject({ kind: 'possible' });
  expect(found.kind === 'possible' ? found.victims.map(({ metadata }) => metadata.name) : []).toEqual(expected);
});

it.each([
  { name: 'too few pods may go', cpu: '2', priority: CRITICAL, asked: '1', missing: 1000 },
  { name: 'the pod is larger than the node', cpu: '2', priority: 0, asked: '3', missing: 1000 },
  { name: 'so it is where the node is overcommitted', cpu: '1', priority: 0, asked: '1500m', missing: 500 },
])('$name: kubelet says what is missing', ({ cpu, priority, asked, missing }) => {
  const critical = podOf({ name: 'own', cpu: asked, priority: CRITICAL });
  const pods = [podOf({ name: 'other', cpu: '2', priority })];
  expect(planPreemption(critical, pods, shortagesOf(critical, nodeOf('n', { cpu }), pods))).toEqual({
    kind: 'impossible',
    message: `Unexpected error while attempting to recover from admission failure: preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: [(res: cpu, q: ${missing}), ]`,
  });
});
