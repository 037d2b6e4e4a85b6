import type { ResourceDefinition, Verb } from '@gantry/apimachinery';
import { type ConvertRemotely, type CustomHooks, customDefinitions } from '@gantry/custom-resources';
import { definitionCondition } from '@gantry/kinds';
import { type CustomResourceDefinition, type KubeObject, StatusError, equalJson } from '@gantry/objects';
import type { WatchCache } from '../cache/index.ts';
import type { ResourceRegistry } from '../resource-registry.ts';

export const DEFINITIONS = { group: 'apiextensions.k8s.io', resource: 'customresourcedefinitions' } as const;

/** The verbs of a terminating resource in discovery. It accepts no new objects. */
const TERMINATING_VERBS: readonly Verb[] = ['delete', 'deletecollection', 'get', 'list', 'watch'];

export interface ServingHooks {
  readonly compileRules?: CustomHooks['compileRules'];
  readonly convert?: (crd: CustomResourceDefinition) => ConvertRemotely;
}

interface Served {
  readonly uid: string | undefined;
  readonly spec: unknown;
  readonly names: unknown;
  readonly isTerminating: boolean;
}

/** All definitions in the cache. */
export function cachedDefinitions(cache: WatchCache): readonly CustomResourceDefinition[] {
  return cache
    .resource(DEFINITIONS)
    .snapshot()
    .map(({ response }) => response.object as KubeObject & CustomResourceDefinition);
}

/**
 * Updates the resource registry with the definitions in the cache. A change is in the resource registry as soon as it is in the cache. The
 * returned function ends the updates.
 */
export function serveDefinitions(
  cache: WatchCache,
  resourceRegistry: ResourceRegistry,
  hooks: ServingHooks,
): () => void {
  const served = new Map<string, Served>();
  const update = (): void => {
    const present = new Set<string>();
    for (const crd of cachedDefinitions(cache)) {
      const { name = '' } = crd.metadata;
      if (definitionCondition(crd, 'Established')?.status !== 'True') continue;
      present.add(name);
      const state: Served = {
        uid: crd.metadata.uid,
        spec: crd.spec,
        names: crd.status?.acceptedNames,
        isTerminating: crd.metadata.deletionTimestamp !== undefined,
      };
      if (equalJson(served.get(name), state)) continue;
      served.set(name, state);
      resourceRegistry.set(name, definitionsOf(crd, hooks, state.isTerminating));
    }
    for (const name of [...served.keys()]) {
      if (present.has(name)) continue;
      served.delete(name);
      resourceRegistry.set(name, []);
    }
  };
  const stop = cache.resource(DEFINITIONS).observe(update);
  update();
  return stop;
}

/** The resources of a definition. */
export function definitionsOf(
  crd: CustomResourceDefinition,
  { compileRules, convert }: ServingHooks,
  isTerminating: boolean,
): readonly ResourceDefinition[] {
  const definitions = customDefinitions(crd, {
    compileRules,
    ...(convert === undefined ? {} : { convert: convert(crd) }),
  });
  return isTerminating ? definitions.map(terminating) : definitions;
}

/** The definition of a terminating resource. Updates are still allowed, since finalizers must be removed. */
function terminating(definition: ResourceDefinition): ResourceDefinition {
  return {
    ...definition,
    publishedVerbs: TERMINATING_VERBS,
    strategy: {
      ...definition.strategy,
      prepareForCreate: ({ metadata }) => {
        const why = 'create not allowed while custom resource definition is terminating';
        throw StatusError.forbidden(definition, metadata.name ?? '', why);
      },
    },
  };
}
