import { systemClock } from '@gantry/base';
import { type GrowingInput, MAX_EXCESS, measureGrowth } from '@gantry/base/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Turns } from '../turns.ts';
import { createHarness, type Harness, jsonBody, WRITE } from './testing.ts';

let h: Harness;
beforeAll(async () => {
  h = await createHarness({ turns: new Turns(systemClock) });
  await h.create('serviceaccounts', { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default' } });
});
afterAll(() => h.stop());

/** Parts of a pod's spec, or of its container, by their number of entries. */
const LISTS: Readonly<Record<string, (i: number) => readonly ['pod' | 'container', string, object | string]>> = {
  containers: (i) => ['pod', 'containers', { name: `c${i}`, image: 'a' }],
  'invalid containers': () => ['pod', 'containers', {}],
  'init containers': (i) => ['pod', 'initContainers', { name: `c${i}`, image: 'a' }],
  variables: (i) => ['container', 'env', { name: `A${i}`, value: 'x' }],
  'references to fields': (i) => [
    'container',
    'env',
    { name: `A${i}`, valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
  ],
  ports: (i) => ['container', 'ports', { containerPort: i + 1, name: `p${i}` }],
  'mounts of missing volumes': (i) => ['container', 'volumeMounts', { name: `v${i}`, mountPath: `/m${i}` }],
  'secret volumes': (i) => ['pod', 'volumes', { name: `v${i}`, secret: { secretName: `s${i}` } }],
  'pull secrets': (i) => ['pod', 'imagePullSecrets', { name: `s${i}` }],
  'scheduling gates': (i) => ['pod', 'schedulingGates', { name: `a.b/g${i}` }],
  'topology constraints': (i) => [
    'pod',
    'topologySpreadConstraints',
    { maxSkew: 1, topologyKey: `k${i}`, whenUnsatisfiable: 'DoNotSchedule' },
  ],
  'resource claims': (i) => ['pod', 'resourceClaims', { name: `c${i}`, resourceClaimName: `c${i}` }],
  tolerations: (i) => ['pod', 'tolerations', { key: `k${i}`, operator: 'Exists', effect: 'NoSchedule' }],
  arguments: (i) => ['container', 'args', `a${i}`],
};
/** Lists with keys have at most 5,000 entries, others as many values as a request may have. */
const MOST: Readonly<Record<string, number>> = { tolerations: 13_000, arguments: 90_000 };

const INPUTS: readonly GrowingInput[] = Object.entries(LISTS).map(([shape, entryOf]) => ({
  name: `a pod's ${shape}`,
  largest: MOST[shape] ?? 4999,
  prepare: (size: number) => {
    const container: Record<string, unknown> = { name: 'c', image: 'a' };
    const spec: Record<string, unknown> = { containers: [container] };
    const entries = Array.from({ length: size }, (_, i) => entryOf(i));
    const [where, field] = entryOf(0);
    (where === 'pod' ? spec : container)[field] = entries.map(([, , entry]) => entry);
    const body = jsonBody({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec });
    const options = { ...WRITE, dryRun: true };
    // Some are invalid.
    return () => h.registry.create(h.context(), h.target('pods', ''), body, options).catch(() => undefined);
  },
}));

it.each(INPUTS)('$name: linear time', async (input) => {
  const { report, excess } = await measureGrowth(input);
  process.stdout.write(report);
  expect(excess).toBeLessThan(MAX_EXCESS);
});
