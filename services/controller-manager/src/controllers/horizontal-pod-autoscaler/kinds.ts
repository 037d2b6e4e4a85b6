import type { ServedResources } from '@gantry/controller-runtime';
import { resources } from '@gantry/kinds';
import { type CrossVersionObjectReference, parseApiVersion, type Resource } from '@gantry/objects';

/** The kinds that are served, built in or not. */
export type Kinds = Pick<ServedResources, 'findKind'>;

/** The built-in resources by group and kind; where a kind has several versions, the one that is stored. */
const BUILT_IN: ReadonlyMap<string, Resource> = new Map(
  resources
    .toSorted((a, b) => Number(a.storage === undefined) - Number(b.storage === undefined))
    .map((definition) => [`${definition.group}/${definition.kind}`, definition]),
);

/** The resource of a kind, whatever its version; a text says in Kubernetes' words why there is none. */
export function resourceOfKind(
  { apiVersion = '', kind }: CrossVersionObjectReference,
  kinds: Kinds,
): Resource | string {
  if (apiVersion.split('/').length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const { group } = parseApiVersion(apiVersion);
  const found = BUILT_IN.get(`${group}/${kind}`) ?? kinds.findKind(group, kind);
  return found ?? `no matches for kind ${JSON.stringify(kind)} in group ${JSON.stringify(group)}`;
}
