import type { ResourceDefinition } from '@gantry/apimachinery';
import { apiVersionOf, compareVersions } from '@gantry/objects';
import type { Priority } from '../../aggregation/api-services.ts';

/** A group version of an extension server, as discovery lists it. */
export interface RemoteVersion {
  readonly group: string;
  readonly version: string;
  /** As in aggregated discovery; absent while the server cannot be asked. */
  readonly resources?: readonly object[];
  readonly freshness: 'Current' | 'Stale';
}

/** What discovery is made of. */
export interface Served {
  readonly definitions: readonly ResourceDefinition[];
  /** In place of what this server has of the same group version. */
  readonly remotes: readonly RemoteVersion[];
  readonly priority: (group: string, version: string) => Priority;
}

export interface ServedVersion {
  readonly groupVersion: string;
  readonly version: string;
  /** By name; empty for what is served elsewhere. */
  readonly definitions: readonly ResourceDefinition[];
  readonly remote?: RemoteVersion;
}

export interface ServedGroup {
  readonly name: string;
  /** The preferred one first. */
  readonly versions: readonly ServedVersion[];
}

/** The group of APIServices has none itself, and comes before all others. */
const FIRST = 'apiregistration.k8s.io';

/** Every group in discovery order: the more important first, then by name; the core group before all. */
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

/** A group is as important as its most important version. */
function rankOf(group: string, versions: readonly string[], priority: Served['priority']): number {
  if (group === '' || group === FIRST) return Number.MAX_SAFE_INTEGER;
  return Math.max(...versions.map((version) => priority(group, version)[0]));
}

function byResource(a: ResourceDefinition, b: ResourceDefinition): number {
  return a.resource < b.resource ? -1 : 1;
}
