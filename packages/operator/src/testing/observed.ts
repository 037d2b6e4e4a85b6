import type { Instant } from '@gantry/base';
import { keyOf, type KubeObject, parseApiVersion, type Resource } from '@gantry/objects';
import type { Observed } from '../index.ts';

/** What a declared controller sees beside the object. */
export interface ObservedOptions<State = undefined> {
  readonly now: Instant;
  /** What is outside of the cluster. */
  readonly outside?: State;
  /** The objects that it controls; they need no owner references. */
  readonly owned?: readonly KubeObject[];
  /** Other objects in the cache. */
  readonly others?: readonly KubeObject[];
}

/**
 * The argument of `desire` for a unit test.
 *
 * @example
 * ```ts
 * const { objects } = backups.desire(observed(backup, { now, owned: [job] }));
 * expect(objects).toEqual([]);
 * ```
 */
export function observed<T extends KubeObject, State = undefined>(
  object: T,
  { now, owned = [], others = [], outside }: ObservedOptions<State>,
): Observed<T, State> {
  const cached = [object, ...owned, ...others];
  return {
    object,
    now,
    outside: outside as State,
    owned: (resource) => ofResource(owned, resource),
    cache: {
      get: (resource, key) =>
        ofResource(cached, resource).find((one) => {
          const { namespace = '', name } = keyOf(one);
          return name === key.name && namespace === (key.namespace ?? '');
        }),
      list: (resource, namespace) => inNamespace(ofResource(cached, resource), namespace),
      labelled: (resource, namespace, labels) =>
        inNamespace(ofResource(cached, resource), namespace).filter(({ metadata }) =>
          Object.entries(labels).every(([name, value]) => metadata.labels?.[name] === value),
        ),
      indexed: ({ resource, valuesOf }, value) =>
        ofResource(cached, resource).filter((one) => valuesOf(one).includes(value)),
    },
  };
}

function ofResource<O extends KubeObject>(objects: readonly KubeObject[], { group, kind }: Resource<O>): readonly O[] {
  return objects.filter((one): one is O => one.kind === kind && parseApiVersion(one.apiVersion).group === group);
}

function inNamespace<O extends KubeObject>(objects: readonly O[], namespace = ''): readonly O[] {
  return namespace === '' ? objects : objects.filter(({ metadata }) => metadata.namespace === namespace);
}
