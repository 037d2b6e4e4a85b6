import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { must } from '@gantry/base';
import { type Deployment, DEPLOYMENTS } from '@gantry/objects';
import { createDice } from '@gantry/controller-runtime/testing';
import { describe, expect, it } from 'vitest';
import { checkSeed } from './check-seed.ts';
import { POD_FATE } from './nodes.ts';
import { objectOf, type Step } from './operation.ts';
import { simulate } from './simulate.ts';
import { nameOfKind } from './simulated-kind.ts';
import { SIMULATED_KINDS } from './simulated-kinds.ts';

/** As many seeds as run within half a minute on an idle machine. `npm run simulate` runs a thousand. */
const SEEDS = Array.from({ length: 15 }, (_, index) => index + 1);
const TIMEOUT_MS = 900_000;
const HOUR_MS = 3_600_000;
const READS = /^(get|list|watch) /;

/** Runs a full garbage collection in V8. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

describe('all controllers on a simulated cluster', () => {
  it.each(SEEDS)(
    'seed %i: faults break no invariant and change no end state',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      expect((await checkSeed(seed)).violations).toEqual([]);
    },
  );

  it('replay a seed change by change', { timeout: TIMEOUT_MS }, async () => {
    const first = await simulate({ seed: 2, faults: 'many' });
    const second = await simulate({ seed: 2, faults: 'many' });
    expect(first.crashes).toBeGreaterThan(0);
    expect(second.trace).toEqual(first.trace);
  });

  it('leave nothing of a run in the process: it goes with its last reference', { timeout: TIMEOUT_MS }, async () => {
    const objects: WeakRef<object>[] = [];
    await simulate({
      seed: 1,
      faults: 'none',
      steps: [],
      onChange: ({ object }) => {
        if (object !== undefined) objects.push(new WeakRef(object));
      },
    });
    expect(objects.length).toBeGreaterThan(0);
    // The promises of stopped work settle in the next turns of the event loop.
    for (let turns = 0; turns < 10; turns++) await new Promise((resolve) => setImmediate(resolve));
    collectGarbage();
    expect(objects.filter((object) => object.deref() !== undefined)).toEqual([]);
  });

  it('ask for nothing over 200 pods at rest, but the Lease that shows the leader', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const [of] = SIMULATED_KINDS.filter(({ resource }) => resource === DEPLOYMENTS);
    const { end, requestsAtRest, violations } = await simulate({
      seed: 1,
      faults: 'none',
      steps: [{ pauseMs: 0, operation: { kind: 'create', of: must(of, 'Deployments'), object: LARGE } }],
    });
    expect(violations).toEqual([]);
    expect(end.filter((line) => line.startsWith('/pods ') && line.includes('ready=True'))).toHaveLength(200);
    expect(new Set(requestsAtRest)).toEqual(new Set(['get leases', 'update leases']));
    expect(requestsAtRest.length).toBeLessThanOrEqual(14);
  });

  it('let a Deployment be deleted whose rollout cannot go on: the pods of its surge stay (seed 3773)', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const of = must(
      SIMULATED_KINDS.find(({ resource }) => resource === DEPLOYMENTS),
      'Deployments',
    );
    const spec = { ...LARGE.spec, replicas: 1, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } };
    const object = { ...LARGE, spec };
    const containers = [{ name: 'c', image: 'example.org/app:broken' }];
    const template = { metadata: { annotations: { [POD_FATE.ready]: 'never' } }, spec: { containers } };
    const { end, violations } = await simulate({
      seed: 1,
      faults: 'none',
      steps: [
        { pauseMs: 0, operation: { kind: 'create', of, object } },
        { pauseMs: 60_000, operation: { kind: 'change', of, object, patch: { spec: { template } } } },
        { pauseMs: 60_000, operation: { kind: 'delete', of, object, propagation: 'Orphan' } },
      ],
    });
    expect(violations).toEqual([]);
    expect(end.filter((line) => line.startsWith('/pods '))).toHaveLength(2);
  });

  it('write nothing for an hour at rest, with an object of each kind, but the Lease that shows the leader', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { requestsAtRest, violations, writes } = await simulate({
      seed: 1,
      faults: 'none',
      steps: oneOfEach(),
      restMs: HOUR_MS,
    });
    expect(violations).toEqual([]);
    expect(writes.atRest).toEqual([]);
    expect(new Set(requestsAtRest.filter((request) => !READS.test(request)))).toEqual(new Set(['update leases']));
    // These two controllers act only on deletions.
    const silent = SIMULATED_KINDS.flatMap(({ controllers }) => controllers).filter((name) => !writes.before.has(name));
    expect(new Set(silent)).toEqual(new Set(['claim-protection', 'garbage-collector']));
  });
});

/**
 * One object of each kind, in one namespace. The dice of the seed decide what the objects are like. After two minutes each object is at
 * rest.
 */
function oneOfEach(): readonly Step[] {
  const dice = createDice(1, 'one of each');
  const made = SIMULATED_KINDS.map((of) => {
    const namespace = of.resource.namespaced ? 'default' : '';
    const name = `${nameOfKind(of)}-1`;
    return { of, object: objectOf(of.resource, namespace, name, of.create(dice, name, namespace)) };
  });
  const creations = made.map(({ of, object }) => ({
    pauseMs: 1000,
    operation: { kind: 'create', of, object } as const,
  }));
  const repairs = made.flatMap(({ of, object }): Step[] => {
    const patch = of.repair?.(object);
    return patch === undefined ? [] : [{ pauseMs: 0, operation: { kind: 'change', of, object, patch } }];
  });
  return [...creations, ...repairs.map((step, index) => (index === 0 ? { ...step, pauseMs: 120_000 } : step))];
}

const LABELS = { app: 'large' };
const LARGE: Deployment = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'large', namespace: 'default' },
  spec: {
    replicas: 200,
    selector: { matchLabels: LABELS },
    template: { metadata: { labels: LABELS }, spec: { containers: [{ name: 'c', image: 'example.org/app:1' }] } },
  },
};
