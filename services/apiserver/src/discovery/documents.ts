import { apiVersionOf, type ResourceDefinition, type Verb } from '@gantry/api';

/** Groups in the order in which Kubernetes lists them; others follow by name. */
const GROUP_ORDER: readonly string[] = [
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
];

/** Whether Kubernetes 1.36 itself serves this group. */
export function isKubernetesGroup(name: string): boolean {
  return GROUP_ORDER.includes(name);
}

interface GroupVersion {
  readonly groupVersion: string;
  readonly version: string;
}

/** `/api`: the versions of the core group. */
export function apiVersions(definitions: readonly ResourceDefinition[]): object {
  const versions = versionsOf(definitions, '').map(({ version }) => version);
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] };
}

/** `/apis`: every named group. */
export function apiGroupList(definitions: readonly ResourceDefinition[]): object {
  const groups = groupNames(definitions).map((name) => groupEntry(definitions, name));
  return { kind: 'APIGroupList', apiVersion: 'v1', groups };
}

/** `/apis/<group>`, or undefined when it is not served. */
export function apiGroup(definitions: readonly ResourceDefinition[], name: string): object | undefined {
  if (!groupNames(definitions).includes(name)) return undefined;
  return { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(definitions, name) };
}

function groupEntry(definitions: readonly ResourceDefinition[], name: string): object {
  const versions = versionsOf(definitions, name);
  return { name, versions, preferredVersion: versions[0] };
}

/** `/api/v1` and `/apis/<group>/<version>`, or undefined when it is not served. */
export function apiResourceList(
  definitions: readonly ResourceDefinition[],
  group: string,
  version: string,
): object | undefined {
  const served = resourcesOf(definitions, group, version);
  if (served.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: apiVersionOf({ group, version }),
    resources: served.flatMap(legacyResources),
  };
}

function legacyResources(definition: ResourceDefinition): readonly object[] {
  const main = {
    name: definition.resource,
    singularName: definition.singular,
    namespaced: definition.namespaced,
    kind: definition.kind,
    verbs: verbsOf(definition),
    ...(definition.shortNames.length === 0 ? {} : { shortNames: definition.shortNames }),
    ...(definition.categories.length === 0 ? {} : { categories: definition.categories }),
  };
  const subresources = sortedSubresources(definition).map((sub) => ({
    name: `${definition.resource}/${sub.name}`,
    singularName: '',
    namespaced: definition.namespaced,
    ...(sub.group === undefined || (sub.group === definition.group && (sub.version ?? '') === definition.version)
      ? {}
      : { group: sub.group, version: sub.version ?? definition.version }),
    kind: sub.kind ?? definition.kind,
    verbs: sorted(sub.verbs),
  }));
  return [main, ...subresources];
}

/** The aggregated form of `/api` (core) or `/apis` (all others). */
export function aggregatedDiscovery(
  definitions: readonly ResourceDefinition[],
  root: 'api' | 'apis',
  version: 'v2' | 'v2beta1',
): object {
  const groups = root === 'api' ? [''] : groupNames(definitions);
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({
      metadata: group === '' ? {} : { name: group },
      versions: versionsOf(definitions, group).map((v) => ({
        version: v.version,
        resources: resourcesOf(definitions, group, v.version).map(aggregatedResource),
        freshness: 'Current',
      })),
    })),
  };
}

function aggregatedResource(definition: ResourceDefinition): object {
  const subresources = sortedSubresources(definition).map((sub) => ({
    subresource: sub.name,
    responseKind:
      sub.group === undefined || (sub.group === definition.group && (sub.version ?? '') === definition.version)
        ? { group: '', version: '', kind: sub.kind ?? definition.kind }
        : { group: sub.group, version: sub.version ?? definition.version, kind: sub.kind ?? definition.kind },
    verbs: sorted(sub.verbs),
  }));
  return {
    resource: definition.resource,
    responseKind: { group: '', version: '', kind: definition.kind },
    scope: definition.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: definition.singular,
    verbs: verbsOf(definition),
    ...(definition.shortNames.length === 0 ? {} : { shortNames: definition.shortNames }),
    ...(definition.categories.length === 0 ? {} : { categories: definition.categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Custom resources come in an order of their own. */
function verbsOf({ verbs, publishedSchema }: ResourceDefinition): readonly Verb[] {
  return publishedSchema === undefined ? sorted(verbs) : verbs;
}

function sortedSubresources(definition: ResourceDefinition): ResourceDefinition['subresources'] {
  if (definition.publishedSchema !== undefined) return definition.subresources;
  return [...definition.subresources].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function sorted(verbs: readonly Verb[]): readonly Verb[] {
  return [...verbs].sort();
}

/** Named groups in discovery order. */
export function groupNames(definitions: readonly ResourceDefinition[]): readonly string[] {
  const rank = (name: string): number => {
    const at = GROUP_ORDER.indexOf(name);
    return at < 0 ? GROUP_ORDER.length : at;
  };
  const names = [...new Set(definitions.map((d) => d.group))].filter((name) => name !== '');
  return names.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/** Versions of a group, the preferred one first. */
function versionsOf(definitions: readonly ResourceDefinition[], group: string): readonly GroupVersion[] {
  const versions = [...new Set(definitions.filter((d) => d.group === group).map((d) => d.version))];
  return versions.sort(compareVersions).map((version) => ({ groupVersion: apiVersionOf({ group, version }), version }));
}

/** Kubernetes' order of version names: v2 before v1 before v1beta1 before v1alpha1. */
function compareVersions(a: string, b: string): number {
  const parse = (version: string): readonly number[] => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [-1, 0, 0];
    const stage = match[2] === undefined ? 2 : match[2] === 'beta' ? 1 : 0;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const left = parse(a);
  const right = parse(b);
  for (const [i, value] of left.entries()) if (value !== right[i]) return (right[i] ?? 0) - value;
  return 0;
}

function resourcesOf(
  definitions: readonly ResourceDefinition[],
  group: string,
  version: string,
): readonly ResourceDefinition[] {
  return definitions
    .filter((d) => d.group === group && d.version === version)
    .sort((a, b) => (a.resource < b.resource ? -1 : 1));
}
