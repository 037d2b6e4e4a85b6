/** One resource that the server lists, by its discovery. */
export interface Kind {
  /** `pods`, `deployments.apps`: the name in addresses and in kubectl commands. Unique. */
  readonly id: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly isNamespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: readonly string[];
}

/** What a response of aggregated discovery (`APIGroupDiscoveryList`) has of a group. */
export interface GroupDiscovery {
  readonly metadata?: { readonly name?: string };
  readonly versions?: readonly VersionDiscovery[];
}

interface VersionDiscovery {
  readonly version?: string;
  /** `Stale`: the server of this version, to which an APIService leads, does not respond. Its resources are absent, or those of before. */
  readonly freshness?: string;
  readonly resources?: readonly ResourceDiscovery[];
}

interface ResourceDiscovery {
  readonly resource: string;
  readonly responseKind?: { readonly kind?: string };
  readonly scope?: string;
  readonly singularResource?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly verbs?: readonly string[];
  readonly subresources?: readonly { readonly subresource: string }[];
}

const isStale = ({ freshness }: VersionDiscovery) => freshness === 'Stale';

/** The API versions whose server does not respond, as `metrics.k8s.io/v1beta1`. */
export function staleVersions(groups: readonly GroupDiscovery[]): readonly string[] {
  return groups.flatMap(({ metadata, versions = [] }) =>
    versions.filter(isStale).map(({ version = '' }) => `${metadata?.name ?? ''}/${version}`),
  );
}

/** The listable resources of all groups, each once, in the most preferred version that its group serves; sorted by name. */
export function kindsFrom(groups: readonly GroupDiscovery[]): readonly Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { metadata, versions = [] } of groups) {
    const group = metadata?.name ?? '';
    for (const { version = '', resources = [] } of versions.toSorted(
      (a, b) => Number(isStale(a)) - Number(isStale(b)),
    )) {
      for (const found of resources) {
        const id = group === '' ? found.resource : `${found.resource}.${group}`;
        if (!kinds.has(id) && found.verbs?.includes('list')) kinds.set(id, kindFrom(id, group, version, found));
      }
    }
  }
  return [...kinds.values()].sort((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : a.group < b.group ? -1 : 1));
}

function kindFrom(id: string, group: string, version: string, found: ResourceDiscovery): Kind {
  const { resource, responseKind, scope, singularResource, shortNames, categories, verbs, subresources } = found;
  const kind = responseKind?.kind ?? resource;
  return {
    id,
    group,
    version,
    resource,
    kind,
    singular: singularResource || kind.toLowerCase(),
    shortNames: shortNames ?? [],
    categories: categories ?? [],
    isNamespaced: scope === 'Namespaced',
    verbs: verbs ?? [],
    subresources: (subresources ?? []).map(({ subresource }) => subresource),
  };
}

/** The path of a resource's objects, of one namespace or of all. */
export function collectionPath(
  { group, version, resource, isNamespaced }: Pick<Kind, 'group' | 'version' | 'resource' | 'isNamespaced'>,
  namespace: string,
): string {
  const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
  return isNamespaced && namespace !== ''
    ? `${root}/namespaces/${encodeURIComponent(namespace)}/${resource}`
    : `${root}/${resource}`;
}

/** The path of one object. */
export function objectPath(kind: Kind, namespace: string, name: string): string {
  return `${collectionPath(kind, namespace)}/${encodeURIComponent(name)}`;
}

/** The kind of a reference with apiVersion and kind, such as an owner reference. */
export function findKind(kinds: readonly Kind[], apiVersion: string, kind: string): Kind | undefined {
  const slash = apiVersion.indexOf('/');
  const group = slash < 0 ? '' : apiVersion.slice(0, slash);
  return kinds.find((known) => known.group === group && known.kind === kind);
}

export function apiVersionOf({ group, version }: Kind): string {
  return group === '' ? version : `${group}/${version}`;
}

/** A kind's group in the navigation. */
export type Area = 'Workloads' | 'Network' | 'Configuration' | 'Storage' | 'Access' | 'Cluster' | 'Custom' | 'Other';

export const AREAS: readonly Area[] = [
  'Workloads',
  'Network',
  'Configuration',
  'Storage',
  'Access',
  'Cluster',
  'Custom',
  'Other',
];

const AREA_OF_GROUP: Readonly<Record<string, Area>> = {
  apps: 'Workloads',
  batch: 'Workloads',
  autoscaling: 'Workloads',
  policy: 'Workloads',
  'networking.k8s.io': 'Network',
  'discovery.k8s.io': 'Network',
  'storage.k8s.io': 'Storage',
  'rbac.authorization.k8s.io': 'Access',
  'certificates.k8s.io': 'Access',
};

const AREA_OF_CORE: Readonly<Record<string, Area>> = {
  pods: 'Workloads',
  replicationcontrollers: 'Workloads',
  services: 'Network',
  endpoints: 'Network',
  configmaps: 'Configuration',
  secrets: 'Configuration',
  limitranges: 'Configuration',
  resourcequotas: 'Configuration',
  persistentvolumes: 'Storage',
  persistentvolumeclaims: 'Storage',
  serviceaccounts: 'Access',
  nodes: 'Cluster',
  namespaces: 'Cluster',
  events: 'Cluster',
};

/** Where the navigation lists a kind. Groups that are neither Kubernetes' own nor known have custom resources. */
export function areaOf({ group, resource }: Kind): Area {
  if (group === '') return AREA_OF_CORE[resource] ?? 'Other';
  const known = AREA_OF_GROUP[group];
  if (known !== undefined) return known;
  return group.includes('.') && !group.endsWith('.k8s.io') ? 'Custom' : 'Other';
}
