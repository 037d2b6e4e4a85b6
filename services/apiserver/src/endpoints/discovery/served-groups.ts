import type { ResourceDefinition } from '@gantry/apimachinery';
import { apiVersionOf, compareVersions } from '@gantry/objects';
import type { Priority } from '../../aggregation/api-services.ts';

/** A group version of an extension server in discovery. */
export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  /** Resources in the form of aggregated discovery; absent while the server is unavailable. */
  readonly resources?: readonly object[];
  readonly freshness: 'Current' | 'Stale';
}

/** The input of discovery. */
export interface Served {
  readonly definitions: readonly ResourceDefinition[];
  /** Group versions of extension servers. They replace those of this server with the same name. */
  readonly remotes: readonly RemoteVersion[];
  readonly priority: (group: string, version: string) => Priority;
}

export interface ServedVersion {
  readonly groupVersion: string;
  readonly version: string;
  /** The definitions, sorted by name; empty for a group version of an extension server. */
  readonly definitions: readonly ResourceDefinition[];
  readonly remote?: RemoteVersion;
}

export interface ServedGroup {
  readonly name: string;
  /** The versions, the preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** The group of APIServices has no APIService itself. It precedes all other groups. */
const FIRST = 'apiregistration.k8s.io';

/** All groups in discovery order: the core group first, then by priority, then by name. */
export function servedGroups(served: Served): readonly ServedGroup[] {
  const { definitions, remotes, priority } = served;
  const versions = new Map<string, Map<string, ServedVersion>>();
  const put = (group: string, version: string, of: Pick<ServedVersion, 'definitions' | 'remote'>): void => {
    const known = versions.get(group) ?? new Map<string, ServedVersion>();
    versions.set(group, known);
    known.set(version, { groupVersion: apiVersionOf({ group, version }), version, ...of });
  };
  for (const [, same] of Map.groupBy(definitions, ({ group, version }) => `${group}/${version}`)) {
    const [first] = same;
    if (first !== undefined) put(first.group, first.version, { definitions: same.toSorted(byResource) });
  }
  for (const remote of remotes) put(remote.group, remote.version, { definitions: [], remote });
  const groups = [...versions].map(([name, of]) => ({
    name,
    rank: rankOf(name, [...of.keys()], priority),
    versions: [...of.values()].sort(
      (a, b) => priority(name, b.version)[1] - priority(name, a.version)[1] || compareVersions(a.version, b.version),
    ),
  }));
  return groups.sort((a, b) => b.rank - a.rank || (a.name < b.name ? -1 : 1));
}

/** The priority of a group is the highest priority of its versions. */
function rankOf(group: string, versions: readonly string[], priority: Served['priority']): number {
  if (group === '' || group === FIRST) return Number.MAX_SAFE_INTEGER;
  return Math.max(...versions.map((version) => priority(group, version)[0]));
}

function byResource(a: ResourceDefinition, b: ResourceDefinition): number {
  return a.resource < b.resource ? -1 : 1;
}
