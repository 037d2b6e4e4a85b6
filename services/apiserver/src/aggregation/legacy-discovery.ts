/** An entry of an APIResourceList, as a server elsewhere gives it. */
interface LegacyResource {
  readonly name: string;
  readonly singularName?: string;
  readonly namespaced?: boolean;
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs?: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

/** The resources of an APIResourceList in the form of aggregated discovery: subresources inside of their resources. */
export function aggregatedResources(list: readonly unknown[]): readonly object[] {
  const resources = list.filter(isResource);
  const main = resources.filter(({ name }) => !name.includes('/'));
  return main.map((resource) => {
    const subresources = resources.filter(({ name }) => name.startsWith(`${resource.name}/`));
    const { shortNames = [], categories = [] } = resource;
    return {
      resource: resource.name,
      responseKind: kindOf(resource),
      scope: resource.namespaced === true ? 'Namespaced' : 'Cluster',
      singularResource: resource.singularName ?? '',
      verbs: resource.verbs ?? [],
      ...(shortNames.length === 0 ? {} : { shortNames }),
      ...(categories.length === 0 ? {} : { categories }),
      ...(subresources.length === 0
        ? {}
        : {
            subresources: subresources.map((sub) => ({
              subresource: sub.name.slice(resource.name.length + 1),
              responseKind: kindOf(sub),
              verbs: sub.verbs ?? [],
            })),
          }),
    };
  });
}

function kindOf({ group = '', version = '', kind = '' }: LegacyResource): object {
  return { group, version, kind };
}

function isResource(value: unknown): value is LegacyResource {
  return typeof value === 'object' && value !== null && typeof (value as { name?: unknown }).name === 'string';
}
