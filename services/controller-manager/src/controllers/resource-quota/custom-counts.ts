import { append } from '@gantry/base';
import { type CustomResourceDefinition, isReason, type KubeObject, resources } from '@gantry/api';
import type { ControllerContext } from '@gantry/controller-runtime';
import type { CountedObject } from './plan.ts';

/** What says which custom resources there are. */
export const DEFINITIONS = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  resource: 'customresourcedefinitions',
};
const PREFIX = 'count/';
const PAGE = 500;

/** Custom resources of a namespace, of the kinds whose number is limited; `counts` when there are such kinds. */
export async function countCustom(
  limited: ReadonlySet<string>,
  namespace: string,
  { cache, client }: ControllerContext,
  signal: AbortSignal,
): Promise<{ readonly objects: readonly CountedObject[]; readonly counts: boolean }> {
  const objects: CountedObject[] = [];
  let counts = false;
  for (const name of limited) {
    if (!name.startsWith(PREFIX) || isBuiltIn(name.slice(PREFIX.length))) continue;
    // A definition is named like what quotas count: `<plural>.<group>`.
    const found = cache.get<CustomResourceDefinition & KubeObject>(DEFINITIONS, {
      namespace: '',
      name: name.slice(PREFIX.length),
    });
    const { group = '', names, versions = [], scope } = found?.spec ?? {};
    const version = versions.find(({ served }) => served === true)?.name;
    if (version === undefined || names?.plural === undefined || scope !== 'Namespaced') continue;
    counts = true;
    const of = { group, version, resource: names.plural };
    try {
      let continueToken = '';
      do {
        const page = await client.list(of, { namespace, limit: PAGE, continueToken }, signal);
        append(
          objects,
          page.items.map((object) => ({ of, object })),
        );
        continueToken = page.continueToken;
      } while (continueToken !== '');
    } catch (error) {
      // Not served yet, or no longer.
      if (!isReason(error, 'NotFound')) throw error;
    }
  }
  return { objects, counts };
}

function isBuiltIn(name: string): boolean {
  return resources.some(({ group, resource }) => `${resource}${group === '' ? '' : `.${group}`}` === name);
}
