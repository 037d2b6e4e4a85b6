import type { KubeObject, LabelSelector } from '@gantry/objects';

type Labels = Readonly<Record<string, string>>;
type Bucket = Map<string, KubeObject>;

/**
 * The objects of one resource by namespace and label (`labelled`), and by one label of their selector (`selecting`). Both give a
 * superset of the matches: the caller applies the whole selector. Keys of objects are unique strings.
 */
export class LabelIndex {
  readonly #byLabel = new Map<string, Bucket>();
  readonly #bySelector = new Map<string, Bucket>();

  put(key: string, object: KubeObject): void {
    for (const id of labelIds(object)) bucketOf(this.#byLabel, id).set(key, object);
    const id = selectorId(object);
    if (id !== undefined) bucketOf(this.#bySelector, id).set(key, object);
  }

  remove(key: string, object: KubeObject): void {
    for (const id of labelIds(object)) drop(this.#byLabel, id, key);
    const id = selectorId(object);
    if (id !== undefined) drop(this.#bySelector, id, key);
  }

  /** The smallest set that has all objects of the namespace with these labels; undefined when no label is given. */
  labelled(namespace: string, labels: Labels): readonly KubeObject[] | undefined {
    let smallest: Bucket | undefined;
    for (const [name, value] of Object.entries(labels)) {
      const bucket = this.#byLabel.get(idOf(namespace, name, value));
      if (bucket === undefined) return [];
      if (smallest === undefined || bucket.size < smallest.size) smallest = bucket;
    }
    return smallest === undefined ? undefined : [...smallest.values()];
  }

  /** Objects of the namespace whose selector may match these labels. */
  selecting(namespace: string, labels: Labels): readonly KubeObject[] {
    if (this.#bySelector.size === 0) return [];
    const found: KubeObject[] = [...(this.#bySelector.get(idOf(namespace, '', ''))?.values() ?? [])];
    for (const [name, value] of Object.entries(labels)) {
      const bucket = this.#bySelector.get(idOf(namespace, name, value));
      if (bucket !== undefined) for (const object of bucket.values()) found.push(object);
    }
    return found;
  }
}

/** Equalities that every object of a selector has: those of a map (Service), else `matchLabels`. */
export function requiredLabels(selector: LabelSelector | Labels | null | undefined, kind: string): Labels {
  if (selector === undefined || selector === null) return {};
  if (kind === 'Service' || kind === 'ReplicationController') return selector as Labels;
  return (selector as LabelSelector).matchLabels ?? {};
}

function labelIds({ metadata }: KubeObject): readonly string[] {
  const { namespace = '', labels = {} } = metadata;
  return Object.entries(labels).map(([name, value]) => idOf(namespace, name, value));
}

/** Undefined for an object without a selector. One without equalities is under the empty label. */
function selectorId(object: KubeObject): string | undefined {
  const { spec } = object as { spec?: { selector?: LabelSelector | Labels | null } };
  const selector = spec?.selector;
  if (selector === undefined || selector === null) return undefined;
  const [first] = Object.entries(requiredLabels(selector, object.kind));
  const { namespace = '' } = object.metadata;
  return first === undefined ? idOf(namespace, '', '') : idOf(namespace, ...first);
}

/** Labels and namespaces contain neither separator. */
function idOf(namespace: string, name: string, value: string): string {
  return `${namespace}\n${name}\n${value}`;
}

function bucketOf(index: Map<string, Bucket>, id: string): Bucket {
  const known = index.get(id);
  if (known !== undefined) return known;
  const bucket: Bucket = new Map();
  index.set(id, bucket);
  return bucket;
}

function drop(index: Map<string, Bucket>, id: string, key: string): void {
  const bucket = index.get(id);
  bucket?.delete(key);
  if (bucket?.size === 0) index.delete(id);
}
