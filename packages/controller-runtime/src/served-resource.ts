import type { APIService, CustomResourceDefinition, Resource } from '@gantry/objects';
import type { DiscoveredResource } from '@gantry/client';

/** A resource that is not built in: a custom one, or one of an aggregated API server. */
export interface ServedResource extends Resource {
  readonly verbs: readonly string[];
  readonly origin: 'custom' | 'aggregated';
}

/** A group version that an aggregated API server serves. */
export interface RemoteVersion {
  /** The APIService's name. */
  readonly name: string;
  readonly group: string;
  readonly version: string;
  /** Preference among the versions of a group: highest first. */
  readonly priority: number;
}

const CUSTOM_VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];
const TERMINATING_VERBS = ['delete', 'deletecollection', 'get', 'list', 'watch'];

/** The reason that API servers write when the last object of a deleted definition has been deleted. */
const EMPTIED = 'InstanceDeletionCompleted';

/** A text that is unique per resource, without the version: all versions show the same objects. */
export function groupResource({ group, resource }: { readonly group: string; readonly resource: string }): string {
  return `${group}/${resource}`;
}

/** `example.com/v1`. */
export function groupVersion({ group, version }: { readonly group: string; readonly version: string }): string {
  return `${group}/${version}`;
}

/** Whether a resource can be listed and watched. */
export function isFollowable({ verbs }: ServedResource): boolean {
  return verbs.includes('list') && verbs.includes('watch');
}

/**
 * The resource that a definition serves; undefined if it is not established. Prefers the storage version if it is served, because that
 * needs no conversion.
 */
export function customResource(crd: CustomResourceDefinition): ServedResource | undefined {
  const conditions = crd.status?.conditions ?? [];
  if (!conditions.some(({ type, status }) => type === 'Established' && status === 'True')) return undefined;
  const served = crd.spec.versions.filter((version) => version.served);
  const version = served.find(({ storage }) => storage) ?? served[0];
  if (version === undefined) return undefined;
  const { kind, plural } = crd.status?.acceptedNames ?? crd.spec.names;
  return {
    group: crd.spec.group,
    version: version.name,
    resource: plural,
    kind,
    namespaced: crd.spec.scope === 'Namespaced',
    verbs: crd.metadata.deletionTimestamp === undefined ? CUSTOM_VERBS : TERMINATING_VERBS,
    origin: 'custom',
  };
}

/** Whether a definition is being deleted and its last object is gone. */
export function isEmptied({ metadata, status }: CustomResourceDefinition): boolean {
  if (metadata.deletionTimestamp === undefined) return false;
  return status?.conditions?.some(({ type, reason }) => type === 'Terminating' && reason === EMPTIED) ?? false;
}

/** The group version that an APIService delegates to another server; undefined when this API server serves it. */
export function remoteVersion(apiService: APIService): RemoteVersion | undefined {
  const { group, version, service, versionPriority } = apiService.spec ?? {};
  if (service === undefined || service === null || group === undefined || group === '') return undefined;
  if (version === undefined) return undefined;
  return { name: apiService.metadata.name ?? '', group, version, priority: versionPriority ?? 0 };
}

/** A resource that discovery found in a group version of an aggregated API server. */
export function aggregatedResource(of: RemoteVersion, found: DiscoveredResource): ServedResource {
  const { group, version } = of;
  return { group, version, ...found, origin: 'aggregated' };
}
