import { readFileSync } from 'node:fs';
import { type ConvertRemotely, customDefinitions } from '@gantry/custom-resources';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { resources } from '@gantry/kinds';
import { apiVersionOf, type CustomResourceDefinition, type KubeObject, StatusError } from '@gantry/objects';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EVERYTHING } from './contract/registry.ts';
import { createHarness, type Harness, jsonBody, patchBody, WRITE } from './testing.ts';

type Spec = Readonly<Record<string, unknown>>;

/** One write, and what it makes: the spec in its version, and the managers; or the message of a conflict. */
interface Step {
  readonly op: 'apply' | 'update';
  readonly manager: string;
  readonly version: string;
  readonly force?: boolean;
  readonly spec: Spec;
  readonly result: string | { readonly spec?: Spec; readonly managers: readonly unknown[] };
}

interface Scenario {
  readonly about: string;
  /** How versions are converted; 'built-in' for HorizontalPodAutoscalers. */
  readonly strategy: 'None' | 'Webhook' | 'built-in';
  readonly steps: readonly Step[];
}

/**
 * Writes by several managers in the versions of a kind, and their results by Kubernetes' own field manager: `managedfields` of
 * `k8s.io/apimachinery` 0.36 with `structured-merge-diff` 6.3. For custom resources with the conversions below, stored as v1; for
 * HorizontalPodAutoscalers with the scheme of `k8s.io/kubernetes` 1.36.2.
 */
const SCENARIOS = readFileSync(new URL('apply-across-versions.cases.jsonl', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Scenario);

const GROUP = 'g.org';
const text = { type: 'string' };

/** The versions differ only if a webhook converts. */
function propertiesOf(strategy: Scenario['strategy'], version: string): object {
  const differs = strategy === 'Webhook';
  return {
    [differs && version === 'v1beta1' ? 'alpha' : 'a']: text,
    b: text,
    m: { type: 'object', additionalProperties: text },
    items: {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: { type: 'object', required: ['name'], properties: { name: text, value: text } },
    },
    set: { type: 'array', 'x-kubernetes-list-type': 'set', items: text },
    ...(differs ? (version === 'v1' ? { hostPort: text } : { host: text, port: text }) : {}),
  };
}

/** v1 has `hostPort`, the others `host` and `port`; v1beta1 has `alpha` instead of `a`. */
function convertSpec(
  { alpha, a = alpha, host, port, hostPort, ...rest }: Record<string, string>,
  version: string,
): Spec {
  const [before, after] = (hostPort ?? '').split(':');
  const parts = { host: host ?? (before || undefined), port: port ?? (after || undefined) };
  const isKnown = parts.host !== undefined || parts.port !== undefined;
  const address = version === 'v1' ? (isKnown ? { hostPort: `${parts.host ?? ''}:${parts.port ?? ''}` } : {}) : parts;
  return JSON.parse(JSON.stringify({ ...rest, [version === 'v1beta1' ? 'alpha' : 'a']: a, ...address })) as Spec;
}

const CONVERT: ConvertRemotely = (objects, apiVersion) =>
  Promise.resolve(
    objects.map((object: KubeObject & { spec?: Record<string, string> }): KubeObject => {
      const { spec } = object;
      const version = apiVersion.slice(GROUP.length + 1);
      return Object.assign({ ...object, apiVersion }, spec === undefined ? {} : { spec: convertSpec(spec, version) });
    }),
  );

interface Options {
  readonly unserved?: string;
  /** Of the fields; that of the conversion when absent. */
  readonly schema?: Scenario['strategy'];
  readonly convert?: ConvertRemotely;
}

function definitionsOf(
  strategy: Scenario['strategy'],
  { unserved, schema = strategy, convert = CONVERT }: Options = {},
): readonly ResourceDefinition[] {
  if (strategy === 'built-in') return resources.filter(({ resource }) => resource === 'horizontalpodautoscalers');
  const versions = ['v1beta1', 'v1', 'v2'].map((name) => ({
    name,
    served: name !== unserved,
    storage: name === 'v1',
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties: propertiesOf(schema, name) } },
      },
    },
  }));
  const names = { plural: 'things', kind: 'Thing' };
  const spec = { group: GROUP, scope: 'Namespaced', names, versions, conversion: { strategy } };
  const crd = { metadata: { name: `things.${GROUP}` }, spec } as unknown as CustomResourceDefinition;
  return customDefinitions(crd, { convert });
}

describe('managed fields of several versions', () => {
  let h: Harness;
  beforeEach(async () => {
    h = await createHarness();
  });
  afterEach(() => h.stop());

  /** Carries out a step. Returns the object, or the message of its conflict. */
  async function write(of: readonly ResourceDefinition[], step: Omit<Step, 'result'>): Promise<KubeObject | string> {
    const { op, manager, version, force = false, spec } = step;
    const definition = must(
      of.find((one) => one.version === version),
      version,
    );
    const target = { definition, namespace: 'n', name: 'x', subresource: '' };
    const sent = { apiVersion: apiVersionOf(definition), kind: definition.kind, metadata: { name: 'x' }, spec };
    const options = { ...WRITE, fieldManager: manager, force };
    try {
      if (op === 'apply') {
        const body = patchBody('application/apply-patch+yaml', new TextEncoder().encode(JSON.stringify(sent)));
        return (await h.settle(h.registry.patch(h.context(), target, body, options))).response.object;
      }
      const all = { ...EVERYTHING, namespace: 'n' };
      const [stored] = (await h.settle(h.registry.list(h.context(), definition, all))).items;
      if (stored === undefined) {
        const created = h.registry.create(h.context(), { ...target, name: '' }, jsonBody(sent), options);
        return (await h.settle(created)).object;
      }
      const { resourceVersion } = stored.object.metadata;
      const body = jsonBody({ ...sent, metadata: { name: 'x', resourceVersion } });
      return (await h.settle(h.registry.update(h.context(), target, body, options))).response.object;
    } catch (error) {
      if (error instanceof StatusError && error.reason === 'Conflict') return error.message;
      throw error;
    }
  }

  const shown = (object: KubeObject | string) => {
    if (typeof object === 'string') return object;
    const { metadata, spec } = object as KubeObject & { spec?: Spec };
    const managers = (metadata.managedFields ?? []).map(({ manager, operation, apiVersion, fieldsV1 }) =>
      JSON.stringify([manager, operation, apiVersion?.split('/')[1], fieldsV1]),
    );
    return { spec, managers: managers.sort() };
  };

  it.each(SCENARIOS)('$about ($strategy)', async ({ strategy, steps }) => {
    let conversions = 0;
    const convert: typeof CONVERT = (objects, apiVersion) => {
      conversions++;
      return CONVERT(objects, apiVersion);
    };
    const of = definitionsOf(strategy, { convert });
    for (const { result, ...step } of steps) {
      conversions = 0;
      const wanted =
        typeof result === 'string'
          ? result
          : { ...result, managers: result.managers.map((one) => JSON.stringify(one)).sort() };
      expect(shown(await write(of, step)), JSON.stringify(step)).toEqual(wanted);
      // At most ten for each of the two other versions; reading and storing the object included.
      expect(conversions).toBeLessThanOrEqual(20);
    }
  });

  const step = (version: string, manager: string, spec: Spec, op: Step['op'] = 'apply') =>
    ({ op, manager, version, spec }) as const;
  const managersOf = (object: KubeObject | string) => shown(object) as { spec: Spec; managers: readonly string[] };

  it('include those of a version that is not served any more', async () => {
    await write(definitionsOf('Webhook'), step('v1beta1', 'm', { alpha: '1', b: '1' }));
    const left = await write(definitionsOf('Webhook', { unserved: 'v1beta1' }), step('v1', 'm', { a: '1' }));
    expect(managersOf(left)).toEqual({ spec: { a: '1' }, managers: ['["m","Apply","v1",{"f:spec":{"f:a":{}}}]'] });
  });

  // Kubernetes refuses this apply, because the field is not in the schema of the other version.
  it('keep fields that only one version has, where nothing converts', async () => {
    const of = definitionsOf('None', { schema: 'Webhook' });
    await write(of, step('v1beta1', 'm', { b: '1' }));
    await write(of, step('v1', 'n', { hostPort: 'h:1' }));
    expect(managersOf(await write(of, step('v1', 'm', { a: '1' }))).spec).toEqual({ a: '1', hostPort: 'h:1' });
  });

  it('are gone after an update whose conversion fails; an apply is refused', async () => {
    await write(definitionsOf('Webhook'), step('v2', 'm', { host: 'h' }));
    const broken = definitionsOf('Webhook', { convert: () => Promise.reject(StatusError.internal('no webhook')) });
    await expect(write(broken, step('v1', 'n', { hostPort: 'i:' }))).rejects.toThrow('no webhook');
    const updated = await write(broken, step('v1', 'n', { hostPort: 'i:' }, 'update'));
    expect(managersOf(updated)).toEqual({ spec: { hostPort: 'i:' }, managers: [] });
  });
});
