import { apiVersionOf, type KubeObject } from '@gantry/objects';
import type { CustomKind } from '../define-kind.ts';
import { KindError } from '../structural-schema.ts';

/** An object without what a conversion may not change. Labels and annotations stay as they are when absent. */
export type Converted<T extends KubeObject> = Omit<T, 'apiVersion' | 'kind' | 'metadata'> & {
  readonly metadata?: Pick<KubeObject['metadata'], 'labels' | 'annotations'>;
};

/** How objects of one version become those of another, and back. Both must keep everything, or a user loses what was written. */
export interface Conversion<H extends KubeObject, S extends KubeObject> {
  readonly toHub: (object: S) => Converted<H>;
  readonly fromHub: (object: H) => Converted<S>;
  /** Whether clients may use the version; true when absent. */
  readonly served?: boolean;
  /** Shown by kubectl when the version is used. */
  readonly deprecationWarning?: string;
}

/** A version of a kind beside the one that is stored; `spoke` makes one. */
export interface Spoke<H extends KubeObject> {
  readonly kind: CustomKind<KubeObject>;
  readonly served: boolean;
  readonly deprecationWarning: string | undefined;
  readonly toHub: (object: KubeObject) => Converted<H>;
  readonly fromHub: (object: H) => Converted<KubeObject>;
}

/** A custom kind in several versions. It is the resource of the stored version, which controllers use. */
export interface ConvertibleKind<T extends KubeObject> extends CustomKind<T> {
  /** The object in another version. Throws KindError for a version that the kind does not have. */
  readonly convert: (object: KubeObject, apiVersion: string) => KubeObject;
}

/** A version of `hub`'s kind with the functions that convert its objects; for `withVersions`. */
export function spoke<H extends KubeObject, S extends KubeObject>(
  _hub: CustomKind<H>,
  kind: CustomKind<S>,
  conversion: Conversion<H, S>,
): Spoke<H> {
  const { toHub, fromHub, served = true, deprecationWarning } = conversion;
  return { kind, served, deprecationWarning, toHub: (object) => toHub(object as S), fromHub };
}

/**
 * A custom kind in several versions. Objects are stored in the version of `hub`; the others (spokes) are converted from and to it by the
 * operator, whose options name the kind in `webhooks.conversions`. Throws KindError.
 *
 * @example
 * ```ts
 * const V1 = defineKind({ group: 'example.com', version: 'v1', kind: 'Backup', spec: z.object({ every: z.string() }) });
 * const V2 = defineKind({ group: 'example.com', version: 'v2', kind: 'Backup', spec: z.object({ schedule: z.string() }) });
 * export const BACKUPS = withVersions(V2, [
 *   spoke(V2, V1, {
 *     toHub: ({ spec }) => ({ spec: { schedule: spec.every } }),
 *     fromHub: ({ spec }) => ({ spec: { every: spec.schedule } }),
 *   }),
 * ]);
 * ```
 */
export function withVersions<H extends KubeObject>(
  hub: CustomKind<H>,
  spokes: readonly Spoke<H>[],
): ConvertibleKind<H> {
  const names = new Set([hub.version]);
  for (const { kind } of spokes) {
    const title = `${kind.kind} ${kind.version}`;
    for (const field of ['group', 'kind', 'resource', 'namespaced'] as const) {
      if (kind[field] !== hub[field]) throw new KindError(`${title}: ${field}: differs from that of ${hub.version}`);
    }
    if (names.has(kind.version)) throw new KindError(`${title}: is there twice`);
    names.add(kind.version);
  }
  const { spec } = hub.definition;
  const versions = spokes.flatMap(({ kind, served, deprecationWarning }) =>
    kind.definition.spec.versions.map((version) => ({
      ...version,
      served,
      storage: false,
      ...(deprecationWarning === undefined ? {} : { deprecated: true, deprecationWarning }),
    })),
  );
  const definition = { ...hub.definition, spec: { ...spec, versions: [...spec.versions, ...versions] } };
  return { ...hub, definition, convert: (object, apiVersion) => convert(hub, spokes, object, apiVersion) };
}

function convert<H extends KubeObject>(
  hub: CustomKind<H>,
  spokes: readonly Spoke<H>[],
  object: KubeObject,
  apiVersion: string,
): KubeObject {
  if (object.apiVersion === apiVersion) return object;
  const spokeOf = (version: string): Spoke<H> | undefined => {
    if (version === apiVersionOf(hub)) return undefined;
    const found = spokes.find(({ kind }) => apiVersionOf(kind) === version);
    if (found === undefined) throw new KindError(`${hub.kind}: has no version ${version}`);
    return found;
  };
  const [from, to] = [spokeOf(object.apiVersion), spokeOf(apiVersion)];
  const stored = from === undefined ? object : placed(object, from.toHub(object), apiVersionOf(hub));
  return to === undefined ? stored : placed(stored, to.fromHub(stored as H), apiVersion);
}

/** A conversion may change labels and annotations, and no other metadata. Empty ones are as none, because API servers drop them. */
function placed<T extends KubeObject>(from: KubeObject, converted: Converted<T>, apiVersion: string): KubeObject {
  const { metadata = {}, ...rest } = converted;
  const { labels = from.metadata.labels, annotations = from.metadata.annotations } = metadata;
  const { labels: _labels, annotations: _annotations, ...others } = from.metadata;
  const changed = Object.entries({ labels, annotations }).filter(([, of = {}]) => Object.keys(of).length > 0);
  return { ...rest, apiVersion, kind: from.kind, metadata: { ...others, ...Object.fromEntries(changed) } };
}
