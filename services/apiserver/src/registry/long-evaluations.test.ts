import { setImmediate as nextRound } from 'node:timers/promises';
import { must } from '@gantry/base';
import { Turns } from '../turns.ts';
import { customDefinitions } from '@gantry/custom-resources';
import { resources } from '@gantry/kinds';
import type { CustomResourceDefinition } from '@gantry/objects';
import { beforeEach, describe, expect, it } from 'vitest';
import { ResourceRegistry } from '../resource-registry.ts';
import { startHarness, type Harness, jsonBody, WRITE } from './testing.ts';

/** An expression that is true and costs more than half of the limit. */
const LONG = 'lists.range(80).all(x, lists.range(700).all(y, x + y >= 0))';
/** CPU time of this thread in milliseconds, which does not include other processes. */
function workedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}

/** Maximum stall of the event loop: a turn of 10 ms, plus the start and end of a request. */
const LONGEST_MS = 100;

const definition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'things.example.org' },
  spec: {
    group: 'example.org',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                'x-kubernetes-validations': Array.from({ length: 2 }, () => ({ rule: LONG })),
              },
            },
          },
        },
      },
    ],
  },
} as CustomResourceDefinition;

const API = 'admissionregistration.k8s.io/v1';
const RULE = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] };
const variables = Array.from({ length: 3 }, (_, n) => ({ name: `v${n}`, expression: LONG }));
const all = { expression: variables.map(({ name }) => `variables.${name}`).join(' && ') };

describe('expressions that take long', () => {
  let h: Harness;
  beforeEach(async () => {
    const resourceRegistry = new ResourceRegistry(resources);
    resourceRegistry.set('things', customDefinitions(definition, {}));
    h = await startHarness({ resourceRegistry, turns: new Turns({ monotonicMs: workedMs }) });
  });

  /** The longest round of the event loop during `work`, in milliseconds of CPU time. */
  async function longestStall(work: () => Promise<unknown>): Promise<number> {
    let [longest, isDone] = [0, false];
    const done = work().finally(() => {
      isDone = true;
    });
    for (let before = workedMs(); !isDone; ) {
      await nextRound();
      const now = workedMs();
      [longest, before] = [Math.max(longest, now - before), now];
    }
    await done;
    return longest;
  }

  const policy = (kind: string, spec: object, binding: object) =>
    Promise.all([
      h.create(`${kind}policies`.toLowerCase(), {
        apiVersion: API,
        kind: `${kind}Policy`,
        metadata: { name: 'p' },
        spec: { matchConstraints: { resourceRules: [RULE] }, ...spec },
      }),
      h.create(`${kind}policybindings`.toLowerCase(), {
        apiVersion: API,
        kind: `${kind}PolicyBinding`,
        metadata: { name: 'b' },
        spec: { policyName: 'p', ...binding },
      }),
    ]);
  const configMap = (name: string) =>
    h.create('configmaps', { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } });

  it('of custom resources let other work run', async () => {
    const things = must(
      h.deps.resourceRegistry.find({ group: 'example.org', version: 'v1', resource: 'things' }),
      'things',
    );
    const create = (name: string) =>
      h.registry.create(
        h.context(),
        { definition: things, namespace: 'n', name: '', subresource: '' },
        jsonBody({ apiVersion: 'example.org/v1', kind: 'Thing', metadata: { name }, spec: {} }),
        WRITE,
      );
    const stall = await longestStall(() => Promise.all(['a', 'b'].map(create)));
    expect(stall).toBeLessThan(LONGEST_MS);
  });

  it.each([
    ['validations', { validations: [all], variables }],
    ['match conditions', { matchConditions: variables, validations: [{ expression: 'true' }] }],
    [
      'audit annotations',
      { variables, auditAnnotations: [{ key: 'k', valueExpression: `${all.expression} ? 'x' : 'y'` }] },
    ],
  ])('of validating policies let other work run: %s', async (_part, spec) => {
    await policy('ValidatingAdmission', spec, { validationActions: ['Deny'] });
    expect(await longestStall(() => configMap('a'))).toBeLessThan(LONGEST_MS);
  });

  it('of mutating policies let other work run', async () => {
    const expression = `Object{data: {'k': ${all.expression} ? 'yes' : 'no'}}`;
    const mutations = [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }];
    await policy('MutatingAdmission', { variables, mutations, reinvocationPolicy: 'Never' }, {});
    let made: unknown;
    const stall = await longestStall(async () => {
      made = await configMap('a');
    });
    expect(stall).toBeLessThan(LONGEST_MS);
    expect(made).toMatchObject({ data: { k: 'yes' } });
  });

  it('end when the client goes', async () => {
    await policy('ValidatingAdmission', { validations: [all], variables }, { validationActions: ['Deny'] });
    const gone = new AbortController();
    const created = h.registry.create(
      h.context({ signal: gone.signal }),
      h.target('configmaps', ''),
      jsonBody({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } }),
      WRITE,
    );
    const refused = expect(created).rejects.toMatchObject({ reason: 'Timeout' });
    for (let round = 0; round < 5; round++) await nextRound();
    gone.abort(new Error('gone'));
    await refused;
  });
});
