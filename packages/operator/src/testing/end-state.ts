import type { KubeObject } from '@gantry/objects';

/** Resources that are not compared: they say who wrote when. */
const UNCOMPARED: ReadonlySet<string> = new Set(['events', 'leases']);

/** Fields that depend on when and how often something was written. */
const MASKED: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'observedGeneration',
  'managedFields',
  'creationTimestamp',
  'lastTransitionTime',
  'lastUpdateTime',
  'lastProbeTime',
  'startTime',
  'completionTime',
  'startedAt',
  // Labels of Jobs and their pods.
  'controller-uid',
  'batch.kubernetes.io/controller-uid',
]);
/** Fields of Services whose values the server chooses, unless there is to be none. Where else such an address stands, it is replaced by the Service. */
const CHOSEN: ReadonlySet<string> = new Set(['clusterIP', 'clusterIPs']);

/** Uids, such as in arguments of containers, and the name of the volume with the token of a pod. */
const RANDOM = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=^kube-api-access-)[a-z0-9]{5}$/g;

const ADDRESS = /\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:]+/g;

/**
 * One line for each object, without uids, versions, times and cluster IPs, so that the ends of two histories can be compared. Of a generated name, only the
 * prefix is compared.
 */
export function endState(
  all: readonly { readonly resource: { readonly resource: string }; readonly object: KubeObject }[],
): readonly string[] {
  const owners = new Map(all.flatMap(({ object }) => addressesOf(object)));
  const known = (text: string): string => owners.get(text) ?? text;
  return all
    .filter(({ resource }) => !UNCOMPARED.has(resource.resource))
    .map(({ object }) => {
      const { namespace = '', name, generateName } = object.metadata;
      const shown = generateName === undefined ? name : `${generateName}*`;
      const compared = { ...object, metadata: { ...object.metadata, name: shown } };
      return `${object.kind} ${namespace}/${shown} ${JSON.stringify(masked(compared, known))}`;
    })
    .sort();
}

/** The addresses of a Service, with how they are shown. */
function addressesOf(object: KubeObject): readonly (readonly [string, string])[] {
  const { kind, metadata, spec } = object as KubeObject & {
    readonly spec?: { readonly clusterIPs?: readonly string[] };
  };
  if (kind !== 'Service') return [];
  const { namespace = '', name = '' } = metadata;
  return (spec?.clusterIPs ?? [])
    .filter((ip) => ip !== 'None')
    .map((ip) => [ip, `(IP of ${namespace}/${name})`] as const);
}

function masked(value: unknown, known: (address: string) => string): unknown {
  if (Array.isArray(value)) return value.map((item) => masked(item, known));
  if (typeof value === 'string') return value.replace(RANDOM, '*').replace(ADDRESS, known);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(
    ([key, item]) => !MASKED.has(key) && (!CHOSEN.has(key) || String(item) === 'None'),
  );
  return Object.fromEntries(
    entries.sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, item]) => [key, masked(item, known)]),
  );
}

/** What one end has and the other has not, for people. Equal lines are counted: objects with generated names have them. */
export function differences(expected: readonly string[], found: readonly string[]): readonly string[] {
  const surplus = new Map<string, number>();
  for (const line of found) surplus.set(line, (surplus.get(line) ?? 0) + 1);
  for (const line of expected) surplus.set(line, (surplus.get(line) ?? 0) - 1);
  return [...surplus].flatMap(([line, count]) =>
    Array.from({ length: Math.abs(count) }, () => `${count < 0 ? 'missing' : 'not expected'}: ${line}`),
  );
}
