import { type APIService, type CustomResourceDefinition, equalJson, type ResourceRef } from '@gantry/objects';
import { AUTOMANAGED, DEFAULT_PRIORITY, localApiServices } from './api-services.ts';
import type { StoredApiService } from './api-service-index.ts';

export type Registration =
  | { readonly kind: 'create'; readonly object: APIService }
  | { readonly kind: 'update'; readonly object: StoredApiService }
  | { readonly kind: 'delete'; readonly object: StoredApiService };

/** Plans the APIServices of this server: creates missing ones, corrects those of custom resources, deletes superfluous ones. */
export function planRegistrations(
  stored: readonly StoredApiService[],
  resources: readonly ResourceRef[],
  definitions: readonly CustomResourceDefinition[],
): readonly Registration[] {
  const byName = new Map(stored.map((one) => [one.metadata.name ?? '', one]));
  const custom = customApiServices(definitions);
  const plan: Registration[] = [];
  for (const wanted of [...localApiServices(resources), ...custom.values()]) {
    const name = wanted.metadata.name ?? '';
    const present = byName.get(name);
    if (present === undefined) plan.push({ kind: 'create', object: wanted });
    else if (custom.has(name) && isKept(present) && !equalJson(present.spec ?? {}, wanted.spec ?? {})) {
      plan.push({
        kind: 'update',
        object: { ...present, ...(wanted.spec === undefined ? {} : { spec: wanted.spec }) },
      });
    }
  }
  for (const [name, present] of byName) {
    if (isKept(present) && !custom.has(name)) plan.push({ kind: 'delete', object: present });
  }
  return plan;
}

function isKept({ metadata }: StoredApiService): boolean {
  return metadata.labels?.[AUTOMANAGED] === 'true';
}

/** One APIService for each served version of a definition, by name. */
function customApiServices(definitions: readonly CustomResourceDefinition[]): ReadonlyMap<string, APIService> {
  const [groupPriorityMinimum, versionPriority] = DEFAULT_PRIORITY;
  const wanted = new Map<string, APIService>();
  for (const { spec } of definitions) {
    for (const { name: version, served } of spec.versions) {
      const name = `${version}.${spec.group}`;
      if (!served || wanted.has(name)) continue;
      wanted.set(name, {
        apiVersion: 'apiregistration.k8s.io/v1',
        kind: 'APIService',
        metadata: { name, labels: { [AUTOMANAGED]: 'true' } },
        spec: { group: spec.group, version, groupPriorityMinimum, versionPriority },
      });
    }
  }
  return wanted;
}
