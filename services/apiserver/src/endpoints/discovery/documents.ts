import { createHash } from 'node:crypto';
import type { ResourceDefinition, Verb } from '@gantry/apimachinery';
import type { ServedGroup } from './served-groups.ts';

/** The document `/api`: the versions of the core group. */
export function apiVersions(groups: readonly ServedGroup[]): object {
  const versions = groups.find(({ name }) => name === '')?.versions.map(({ version }) => version) ?? [];
  return { kind: 'APIVersions', versions, serverAddressByClientCIDRs: [] };
}

/** The document `/apis`: all named groups. */
export function apiGroupList(groups: readonly ServedGroup[]): object {
  const named = groups.filter(({ name }) => name !== '').map(groupEntry);
  return { kind: 'APIGroupList', apiVersion: 'v1', groups: named };
}

/** The document `/apis/<group>`; undefined when the group is not served. */
export function apiGroup(groups: readonly ServedGroup[], name: string): object | undefined {
  const group = groups.find((one) => one.name === name);
  return group === undefined ? undefined : { kind: 'APIGroup', apiVersion: 'v1', ...groupEntry(group) };
}

function groupEntry({ name, versions }: ServedGroup): object {
  const entries = versions.map(({ groupVersion, version }) => ({ groupVersion, version }));
  return { name, versions: entries, preferredVersion: entries[0] };
}

/** The document `/api/v1` or `/apis/<group>/<version>`; undefined when this server does not serve it. */
export function apiResourceList(groups: readonly ServedGroup[], group: string, version: string): object | undefined {
  const found = groups.find(({ name }) => name === group)?.versions.find((one) => one.version === version);
  if (found === undefined || found.remote !== undefined) return undefined;
  return {
    kind: 'APIResourceList',
    ...(group === '' ? {} : { apiVersion: 'v1' }),
    groupVersion: found.groupVersion,
    resources: found.definitions.flatMap(legacyResources),
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
    ...(definition.stored ? { storageVersionHash: storageVersionHash(definition) } : {}),
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

/** A hash of the storage version. Migration clients use it to find out whether the storage version has changed. */
function storageVersionHash(definition: ResourceDefinition): string {
  const { group, version } = definition.storage ?? definition;
  const stored = `${group}/${version}/${definition.kind}`;
  return createHash('sha256').update(stored).digest().subarray(0, 8).toString('base64');
}

/** The aggregated discovery document of `/api` (core group) or `/apis` (all other groups). */
export function aggregatedDiscovery(groups: readonly ServedGroup[], root: 'api' | 'apis'): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: groups
      .filter(({ name }) => (name === '') === (root === 'api'))
      .map(({ name, versions }) => ({
        metadata: name === '' ? {} : { name },
        versions: versions.map((one) => {
          const { resources, freshness } = one.remote ?? {
            resources: one.definitions.map(aggregatedResource),
            freshness: 'Current',
          };
          return { version: one.version, resources, freshness };
        }),
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

/** The verbs in discovery. Those of custom resources have their own order. */
function verbsOf({ verbs, publishedSchema, publishedVerbs = verbs }: ResourceDefinition): readonly Verb[] {
  return publishedSchema === undefined ? sorted(verbs) : publishedVerbs;
}

function sortedSubresources(definition: ResourceDefinition): ResourceDefinition['subresources'] {
  if (definition.publishedSchema !== undefined) return definition.subresources;
  return [...definition.subresources].sort((a, b) => (a.name < b.name ? -1 : 1));
}

function sorted(verbs: readonly Verb[]): readonly Verb[] {
  return [...verbs].sort();
}
