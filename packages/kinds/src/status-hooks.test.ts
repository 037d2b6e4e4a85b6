import { normaliseShape, type ResourceDefinition } from '@gantry/apimachinery';
import { must } from '@gantry/base';
import { apiVersionOf, cloneJson, equalJson, type KubeObject } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { resources } from './registry.ts';
import { widgets } from './testing/example-kind.ts';
import { randomObject } from './testing/random-object.ts';

/**
 * The number of random pairs of objects for each kind. The tests check which parts the hooks of kinds with a status subresource keep
 * separate.
 */
const RUNS = 40;
const CONTEXT = { now: 0, user: { name: 'u', uid: '', groups: [], extra: {} }, warn: () => undefined };

/** Metadata that clients set. The registry itself keeps the server's fields. */
const METADATA = ['annotations', 'finalizers', 'labels', 'ownerReferences'] as const;
const without = (kept: string) => METADATA.filter((field) => field !== kept);

/** Kinds whose status subresource can change metadata, as in Kubernetes. No other kind may allow it. */
const LETS_METADATA_THROUGH: Readonly<Partial<Record<string, readonly string[]>>> = {
  'v1 Namespace': METADATA,
  'v1 Node': METADATA,
  'v1 PersistentVolume': METADATA,
  'v1 PersistentVolumeClaim': METADATA,
  'v1 Pod': without('ownerReferences'),
  'v1 ReplicationController': METADATA,
  'v1 ResourceQuota': METADATA,
  'v1 Service': METADATA,
  'apiextensions.k8s.io/v1 CustomResourceDefinition': METADATA,
  'apps/v1 DaemonSet': METADATA,
  'apps/v1 Deployment': without('labels'),
  'apps/v1 ReplicaSet': METADATA,
  'apps/v1 StatefulSet': METADATA,
  'autoscaling/v1 HorizontalPodAutoscaler': METADATA,
  'autoscaling/v2 HorizontalPodAutoscaler': METADATA,
  'batch/v1 CronJob': METADATA,
  'batch/v1 Job': METADATA,
  'certificates.k8s.io/v1 CertificateSigningRequest': METADATA,
  'networking.k8s.io/v1 Ingress': METADATA,
  'policy/v1 PodDisruptionBudget': METADATA,
};

/** Kinds whose status changes with the spec: addresses of a former load balancer are removed, a new storage version is recorded. */
const STATUS_FOLLOWS_SPEC = ['v1 Service', 'apiextensions.k8s.io/v1 CustomResourceDefinition'];
/** Kinds that may be created with a status: agents register their Node that way. */
const CREATED_WITH_STATUS = ['v1 Node'];

type Fields = KubeObject & { status?: unknown } & Readonly<Record<string, unknown>>;

const statusOf = ({ subresources }: ResourceDefinition) => subresources.find(({ name }) => name === 'status');
const kinds = [...resources, widgets]
  .filter((definition) => statusOf(definition) !== undefined)
  .map((definition) => [`${apiVersionOf(definition)} ${definition.kind}`, definition] as const);

/** A random object as it is after decoding. */
function decoded(definition: ResourceDefinition, seed: number): Fields {
  const random = randomObject(definition, seed);
  const object = normaliseShape({ ...random, metadata: random.metadata ?? {} }, definition.schema);
  definition.strategy.applyDefaults?.(object);
  return { ...object };
}

/** `RUNS` pairs of random objects of a kind. */
function pairs(definition: ResourceDefinition): readonly { readonly one: Fields; readonly other: Fields }[] {
  return Array.from({ length: RUNS }, (_, seed) => ({
    one: decoded(definition, seed),
    other: decoded(definition, seed + RUNS),
  }));
}

function differing(left: object, right: object, names: readonly string[]): readonly string[] {
  const value = (of: object, name: string) => (of as Readonly<Record<string, unknown>>)[name];
  return names.filter((name) => !equalJson(value(left, name), value(right, name)));
}

it('there are kinds with a status', () => {
  const names: readonly string[] = kinds.map(([name]) => name);
  expect(names.length).toBeGreaterThan(25);
  expect(Object.keys(LETS_METADATA_THROUGH).filter((name) => !names.includes(name))).toEqual([]);
});

describe.each(kinds)('%s', (name, definition) => {
  it('a write of the status changes nothing else', () => {
    const { prepareForUpdate } = must(statusOf(definition), 'the status');
    const changed = new Set<string>();
    const metadata = new Set<string>();
    for (const { one, other } of pairs(definition)) {
      const after = cloneJson(other);
      prepareForUpdate?.(after, cloneJson(one), CONTEXT);
      const fields = [...new Set([...Object.keys(one), ...Object.keys(other)])];
      for (const field of differing(after, one, fields)) changed.add(field);
      for (const field of differing(after.metadata, one.metadata, METADATA)) metadata.add(field);
    }
    changed.delete('metadata');
    expect([...changed]).toEqual(['status']);
    expect([...metadata].toSorted()).toEqual(LETS_METADATA_THROUGH[name] ?? []);
  });

  it('an update of the object leaves the status as it is', () => {
    const { prepareForUpdate } = definition.strategy;
    const changed = pairs(definition).some(({ one, other }) => {
      prepareForUpdate?.(other, cloneJson(one), CONTEXT);
      return !equalJson(other.status, one.status);
    });
    expect(changed).toBe(STATUS_FOLLOWS_SPEC.includes(name));
  });

  it('a new object does not get the status that a client sent', () => {
    const { prepareForCreate } = definition.strategy;
    const depends = pairs(definition).some(({ one, other }) => {
      const created = { ...cloneJson(one), status: other.status };
      prepareForCreate?.(one, CONTEXT);
      prepareForCreate?.(created, CONTEXT);
      return !equalJson(created.status, one.status);
    });
    expect(depends).toBe(CREATED_WITH_STATUS.includes(name));
  });
});
