import { formatKey, keyOf, type KubeObject, type ObjectKey, type Resource } from '@gantry/objects';
import { LabelIndex } from './label-index.ts';

/** A change of cached objects: `old` is undefined for a new object, `object` for one that is gone. */
export interface ObjectChange<T extends KubeObject = KubeObject> {
  readonly object: T | undefined;
  readonly old: T | undefined;
}

/**
 * An index on the cached objects of a resource, for `Cache.indexed`. It is made when it is first asked, and kept from then on: make it once, not
 * in each reconcile.
 */
export interface ObjectIndex<T extends KubeObject = KubeObject> {
  readonly resource: Resource<T>;
  /** What an object is found by. Pure. */
  readonly valuesOf: (object: T) => readonly string[];
}

type Bucket = Map<string, KubeObject>;
type ValuesOf = (object: KubeObject) => readonly string[];

/** The objects of one resource with their indexes: namespace, uid, owners, node, labels, those without a controller, and those of users. */
export class ResourceIndex {
  #objects: Bucket = new Map();
  #byNamespace = new Map<string, Bucket>();
  readonly #byUid: Map<string, KubeObject>;
  #byOwner = new Map<string, Bucket>();
  #byNode = new Map<string, Bucket>();
  /** Made when it is first asked: most resources are never looked up by label. */
  #byLabel: LabelIndex | undefined;
  /** By namespace; undefined until it is first asked for, since most resources have no owners that adopt. */
  #uncontrolled: Map<string, Bucket> | undefined;
  /** By the function of the index. */
  readonly #own = new Map<ValuesOf, Map<string, Bucket>>();

  /** `byUid` has the objects of all resources that share it, and is kept by their indexes. */
  constructor(byUid: Map<string, KubeObject> = new Map()) {
    this.#byUid = byUid;
  }

  get(key: ObjectKey): KubeObject | undefined {
    return this.#objects.get(formatKey(key));
  }

  list(namespace: string | undefined): readonly KubeObject[] {
    const bucket = namespace === undefined || namespace === '' ? this.#objects : this.#byNamespace.get(namespace);
    return bucket === undefined ? [] : [...bucket.values()];
  }

  controlledBy(namespace: string, ownerUid: string): readonly KubeObject[] {
    return this.dependentsOf(ownerUid).filter(
      ({ metadata }) =>
        (metadata.namespace ?? '') === namespace &&
        metadata.ownerReferences?.some(({ uid, controller }) => uid === ownerUid && controller === true),
    );
  }

  dependentsOf(ownerUid: string): readonly KubeObject[] {
    return [...(this.#byOwner.get(ownerUid)?.values() ?? [])];
  }

  withoutController(namespace: string): readonly KubeObject[] {
    return [...(this.#uncontrolledIndex().get(namespace)?.values() ?? [])];
  }

  onNode(nodeName: string): readonly KubeObject[] {
    return [...(this.#byNode.get(nodeName)?.values() ?? [])];
  }

  labelled(namespace: string, labels: Readonly<Record<string, string>>): readonly KubeObject[] {
    return this.#labels().labelled(namespace, labels) ?? this.list(namespace);
  }

  selecting(namespace: string, labels: Readonly<Record<string, string>>): readonly KubeObject[] {
    return this.#labels().selecting(namespace, labels);
  }

  indexed(valuesOf: ValuesOf, value: string): readonly KubeObject[] {
    let index = this.#own.get(valuesOf);
    if (index === undefined) {
      index = new Map();
      for (const [key, object] of this.#objects) for (const one of valuesOf(object)) insert(index, one, key, object);
      this.#own.set(valuesOf, index);
    }
    return [...(index.get(value)?.values() ?? [])];
  }

  put(object: KubeObject): ObjectChange {
    const key = formatKey(keyOf(object));
    const old = this.#objects.get(key);
    if (old !== undefined) this.#unindex(key, old);
    this.#objects.set(key, object);
    this.#index(key, object);
    return { object, old };
  }

  /** Undefined when it was not there. */
  remove(object: KubeObject): ObjectChange | undefined {
    const key = formatKey(keyOf(object));
    const old = this.#objects.get(key);
    if (old === undefined) return undefined;
    this.#objects.delete(key);
    this.#unindex(key, old);
    return { object: undefined, old };
  }

  /** Replaces all contents in one step; returns what differs. */
  replace(objects: readonly KubeObject[]): readonly ObjectChange[] {
    const before = this.#objects;
    this.#objects = new Map();
    this.#byNamespace = new Map();
    for (const old of before.values()) this.#forgetUid(old);
    this.#byOwner = new Map();
    this.#byNode = new Map();
    if (this.#byLabel !== undefined) this.#byLabel = new LabelIndex();
    this.#uncontrolled = undefined;
    for (const index of this.#own.values()) index.clear();
    const changes: ObjectChange[] = [];
    for (const object of objects) {
      const old = before.get(formatKey(keyOf(object)));
      this.put(object);
      if (old?.metadata.uid !== undefined && old.metadata.uid !== object.metadata.uid) {
        changes.push({ object: undefined, old }, { object, old: undefined });
      } else if (old?.metadata.resourceVersion !== object.metadata.resourceVersion) changes.push({ object, old });
    }
    for (const [key, old] of before) if (!this.#objects.has(key)) changes.push({ object: undefined, old });
    return changes;
  }

  #index(key: string, object: KubeObject): void {
    insert(this.#byNamespace, object.metadata.namespace ?? '', key, object);
    if (object.metadata.uid !== undefined) this.#byUid.set(object.metadata.uid, object);
    for (const { uid } of object.metadata.ownerReferences ?? []) insert(this.#byOwner, uid, key, object);
    if (object.kind === 'Pod') insert(this.#byNode, nodeNameOf(object), key, object);
    this.#byLabel?.put(key, object);
    if (this.#uncontrolled !== undefined && !hasController(object)) {
      insert(this.#uncontrolled, object.metadata.namespace ?? '', key, object);
    }
    for (const [valuesOf, index] of this.#own) for (const value of valuesOf(object)) insert(index, value, key, object);
  }

  #unindex(key: string, object: KubeObject): void {
    drop(this.#byNamespace, object.metadata.namespace ?? '', key);
    this.#forgetUid(object);
    for (const { uid } of object.metadata.ownerReferences ?? []) drop(this.#byOwner, uid, key);
    if (object.kind === 'Pod') drop(this.#byNode, nodeNameOf(object), key);
    this.#byLabel?.remove(key, object);
    if (this.#uncontrolled !== undefined) drop(this.#uncontrolled, object.metadata.namespace ?? '', key);
    for (const [valuesOf, index] of this.#own) for (const value of valuesOf(object)) drop(index, value, key);
  }

  #forgetUid(object: KubeObject): void {
    const { uid } = object.metadata;
    if (uid !== undefined && this.#byUid.get(uid) === object) this.#byUid.delete(uid);
  }

  #labels(): LabelIndex {
    if (this.#byLabel !== undefined) return this.#byLabel;
    const index = new LabelIndex();
    for (const [key, object] of this.#objects) index.put(key, object);
    this.#byLabel = index;
    return index;
  }

  #uncontrolledIndex(): Map<string, Bucket> {
    if (this.#uncontrolled !== undefined) return this.#uncontrolled;
    const index = new Map<string, Bucket>();
    for (const [key, object] of this.#objects) {
      if (!hasController(object)) insert(index, object.metadata.namespace ?? '', key, object);
    }
    this.#uncontrolled = index;
    return index;
  }
}

function hasController(object: KubeObject): boolean {
  return object.metadata.ownerReferences?.some(({ controller }) => controller === true) === true;
}

function nodeNameOf(object: KubeObject): string {
  return (object as { spec?: { nodeName?: string } }).spec?.nodeName ?? '';
}

function insert(index: Map<string, Bucket>, value: string, key: string, object: KubeObject): void {
  const bucket = index.get(value);
  if (bucket === undefined) index.set(value, new Map([[key, object]]));
  else bucket.set(key, object);
}

function drop(index: Map<string, Bucket>, value: string, key: string): void {
  const bucket = index.get(value);
  bucket?.delete(key);
  if (bucket?.size === 0) index.delete(value);
}
