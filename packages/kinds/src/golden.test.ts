import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { must } from '@gantry/base';
import {
  type ResourceDefinition,
  cloneWithEmpty,
  decodeObject,
  normaliseShape,
  validateNew,
} from '@gantry/apimachinery';
import { type JsonObject, type KubeObject, type Pod, type Service, StatusError, cloneJson } from '@gantry/objects';
import { findResource } from './registry.ts';

/**
 * Recorded create requests to a Kubernetes API server. They run only through defaults, strategies and rules. The code below stands in for
 * admission and allocation. The integration tests replay the same requests against the whole server.
 */
interface Answer {
  readonly code: number;
  readonly body?: JsonObject;
}

interface Step {
  readonly about: string;
  readonly path: string;
  readonly body?: object;
  readonly raw?: string;
  readonly want: Answer;
}

interface Scenario {
  readonly id: string;
  readonly steps: readonly Step[];
  readonly ignore?: readonly string[];
}

interface Golden {
  answer(code: number, text: string, options: { ns: string; ignore: readonly string[] | undefined }): Answer;
  differences(want: Answer, got: Answer): string[];
}

const GOLDEN = new URL('../../../integration-tests/golden/', import.meta.url);
const PROTECTED: Readonly<Record<string, string>> = {
  PersistentVolume: 'kubernetes.io/pv-protection',
  PersistentVolumeClaim: 'kubernetes.io/pvc-protection',
};
const NAMESPACE = 'gaaaaaaaaaa';
const ADMIN = {
  name: 'admin',
  uid: '',
  groups: ['system:masters', 'system:authenticated'],
  extra: {
    'authentication.kubernetes.io/credential-id': [
      'X509SHA256=d4ebaf5d0c235089e2d1466892782de787a921e19f44826223e1cc7bc8f73b86',
    ],
  },
};

const { answer, differences } = (await import(new URL('lib.mjs', GOLDEN).href)) as Golden;
const scenarios = readFileSync(new URL('create.jsonl', GOLDEN), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Scenario)
  // Reviews are not stored: the server answers them from its knowledge of users.
  .filter(({ id }) => !id.includes('Review.'));

const fill = (text: string) =>
  text.replaceAll('{ns}', NAMESPACE).replace(/\{x\*(\d+)\}/g, (_, count) => 'x'.repeat(Number(count)));

function resourceAt(path: string): { definition: ResourceDefinition; namespace: string; query: string } {
  const parts = must(
    /^\/(?:api|apis\/([^/]+))\/([^/]+)\/(?:namespaces\/([^/]+)\/)?([^/?]+)\?(.*)$/.exec(path),
    `no resource at ${path}`,
  );
  const [, group = '', version = '', namespace = '', resource = '', query = ''] = parts;
  return { definition: must(findResource({ group, version, resource }), path), namespace, query };
}

interface Created {
  readonly code: number;
  readonly body: object;
}

function create(step: Step): Created {
  const { definition, namespace, query } = resourceAt(fill(step.path));
  try {
    const bytes = Buffer.from(fill(step.raw ?? JSON.stringify(step.body)));
    const mode = query.includes('Strict') ? 'Strict' : 'Ignore';
    const { object } = decodeObject({ bytes, mediaType: 'application/json', definition, mode });
    return { code: 201, body: createDecoded(definition, object, namespace) };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return { code: error.code, body: error.toStatus() };
  }
}

function createDecoded(definition: ResourceDefinition, sent: KubeObject, namespace: string): KubeObject {
  const { strategy } = definition;
  strategy.applyDefaults?.(sent);
  const isGenerated = (sent.metadata.generateName ?? '') !== '' && (sent.metadata.name ?? '') === '';
  const object = isGenerated ? cloneWithEmpty(sent) : sent;
  const meta = object.metadata;
  if (definition.namespaced) {
    if ((meta.namespace ?? namespace) !== namespace) {
      throw StatusError.badRequest(
        'the namespace of the provided object does not match the namespace sent on the request',
      );
    }
    meta.namespace = namespace;
  } else delete meta.namespace;
  if (isGenerated) meta.name = `${meta.generateName ?? ''}abcde`;
  strategy.applyDefaults?.(object);
  admit(definition, object);
  meta.uid = '00000000-0000-0000-0000-000000000000';
  strategy.prepareForCreate?.(object, { now: Date.parse('2030-01-01T00:00:00Z'), user: ADMIN, warn: () => undefined });
  strategy.applyDefaults?.(object);
  if (definition.kind === 'Service') allocate(object);
  const errors = validateNew(definition, object);
  if (errors.length > 0) {
    const { group } = definition.storage ?? definition;
    throw StatusError.invalid(group, definition.kind, meta.name ?? '', errors);
  }
  for (const field of ['managedFields', 'deletionTimestamp', 'deletionGracePeriodSeconds', 'selfLink'] as const) {
    delete meta[field];
  }
  meta.creationTimestamp = '2030-01-01T00:00:00Z';
  if (strategy.hasGeneration === true) meta.generation = 1;
  return normaliseShape(object, definition.schema);
}

/** Adds what admission adds to pods, nodes and volumes, except for the service account's volume. */
function admit(definition: ResourceDefinition, object: KubeObject): void {
  if (definition.kind === 'Node') {
    const node = object as KubeObject & { spec?: { taints?: object[] } };
    const spec = (node.spec ??= {});
    spec.taints = [...(spec.taints ?? []), { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }];
  }
  const protection = PROTECTED[definition.kind];
  if (protection !== undefined) {
    const { metadata } = object;
    metadata.finalizers = [...(metadata.finalizers ?? []), protection];
  }
  if (definition.kind !== 'Pod') return;
  const spec = must((object as Pod).spec, 'pods are decoded with a spec');
  if ((spec.serviceAccountName ?? '') === '') spec.serviceAccountName = 'default';
  strategyOfPods(object);
  spec.priority ??= 0;
  spec.preemptionPolicy ??= 'PreemptLowerPriority';
  for (const key of ['node.kubernetes.io/not-ready', 'node.kubernetes.io/unreachable']) {
    const tolerated = (spec.tolerations ?? []).some((one) => (one.key ?? '') === '' && (one.effect ?? '') === '');
    if (tolerated) continue;
    spec.tolerations = [
      ...(spec.tolerations ?? []),
      { key, operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 300 },
    ];
  }
}

function strategyOfPods(object: KubeObject): void {
  const pods = must(findResource({ group: '', version: 'v1', resource: 'pods' }), 'pods');
  pods.strategy.applyDefaults?.(object);
}

function allocate({ spec = {} }: Service): void {
  const given = (spec.clusterIP ?? '') !== '';
  if (!given && ['ClusterIP', 'NodePort', 'LoadBalancer'].includes(spec.type ?? '')) {
    spec.clusterIP = '10.96.0.9';
    spec.clusterIPs = ['10.96.0.9'];
  }
  if (spec.type !== 'LoadBalancer') return;
  const byPort = new Map<number, number>();
  let next = 32769;
  for (const port of spec.allocateLoadBalancerNodePorts === true ? (spec.ports ?? []) : []) {
    const chosen = byPort.get(port.port) ?? next++;
    byPort.set(port.port, chosen);
    port.nodePort ??= chosen;
  }
  if (spec.externalTrafficPolicy === 'Local') spec.healthCheckNodePort ??= next;
}

function compare(scenario: Scenario, step: Step): { code: 'same' | 'other'; found: string[]; got: Created } {
  const want = cloneJson(step.want);
  const meta = want.body?.['metadata'];
  if (meta !== undefined && meta !== null && typeof meta === 'object' && !Array.isArray(meta))
    delete meta['managedFields'];
  const got = create(step);
  const normal = answer(got.code, JSON.stringify(got.body), { ns: NAMESPACE, ignore: scenario.ignore });
  const code = normal.code === want.code || (want.code >= 500 && normal.code >= 400) ? 'same' : 'other';
  return { code, found: differences(want, normal), got };
}

describe('creations recorded from Kubernetes', () => {
  const asked = scenarios.flatMap((scenario) => scenario.steps.map((step) => ({ scenario, step })));
  const results = asked.map(({ scenario, step }) => ({
    at: `${scenario.id} ${step.about}`,
    step,
    ...compare(scenario, step),
  }));

  it('are many', () => {
    expect(results.length).toBeGreaterThan(3500);
  });

  it('are answered with the same code', () => {
    const other = results.filter(({ code }) => code === 'other').map(({ at }) => at);
    expect(other).toEqual([]);
  });

  it('are answered with the same words and objects, but for what is not decided here', () => {
    const different = results
      .filter(({ found }) => found.length > 0)
      .map(({ at, found }) => `${at}: ${found[0] ?? ''}`);
    // Admission adds the service account's volume.
    const expected = /automountServiceAccountToken/;
    expect(different.filter((text) => !expected.test(text))).toEqual([]);
  });

  it('give objects that defaults leave as they are', () => {
    for (const { step, got } of results) {
      const { definition } = resourceAt(fill(step.path));
      const { code, body } = got;
      if (code !== 201) continue;
      const again = cloneJson(body as KubeObject);
      definition.strategy.applyDefaults?.(again);
      expect(again, step.about).toEqual(body);
    }
  });
});
