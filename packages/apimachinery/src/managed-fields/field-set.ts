import { canonicalElement, sortElements } from './path-element.ts';

/** A node of fieldsV1 as JSON: `{ ".": {}, "f:name": {} }`; an empty node is a member without children. */
export type FieldsV1 = { readonly [element: string]: FieldsV1 };

interface Node {
  member: boolean;
  children: Map<string, Node>;
}

/**
 * A set of field paths. Path elements have the form of fieldsV1: `f:spec`, `k:{"name":"c"}`, `v:"x"`. Operations return new sets and do not
 * change their operands. Only the creator of a set may call `insert`, before the set is used.
 */
export class FieldSet {
  readonly #root: Node;

  constructor(root: Node = { member: false, children: new Map() }) {
    this.#root = root;
  }

  /** A set of these paths. */
  static of(...paths: readonly (readonly string[])[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  get empty(): boolean {
    return isEmpty(this.#root);
  }

  /** Adds a path to this set, in place. */
  insert(path: readonly string[]): void {
    let node = this.#root;
    for (const element of path) {
      let child = node.children.get(element);
      if (child === undefined) {
        child = { member: false, children: new Map() };
        node.children.set(element, child);
      }
      node = child;
    }
    node.member = true;
  }

  has(path: readonly string[]): boolean {
    let node: Node | undefined = this.#root;
    for (const element of path) node = node?.children.get(element);
    return node?.member ?? false;
  }

  /** The members below an element, without the element itself; undefined when there are none. */
  below(element: string): FieldSet | undefined {
    const child = this.#root.children.get(element);
    return child === undefined || child.children.size === 0
      ? undefined
      : new FieldSet({ member: false, children: child.children });
  }

  /** The first elements of the paths in this set, unordered. */
  elements(): Iterable<string> {
    return this.#root.children.keys();
  }

  /** Members of either set. */
  union(other: FieldSet): FieldSet {
    return this.#with(unite(this.#root, other.#root));
  }

  /** Members of any of these sets, in time linear in their total size. */
  static unionOf(sets: readonly FieldSet[]): FieldSet {
    const [first = new FieldSet(), ...others] = sets;
    if (others.length === 0) return first;
    const root: Node = { member: false, children: new Map() };
    for (const set of sets) addTo(root, set.#root);
    return new FieldSet(root);
  }

  /** Members of this set that are not in `other`. */
  difference(other: FieldSet): FieldSet {
    return this.#with(subtract(this.#root, other.#root));
  }

  /** Members of this set that are neither in `other` nor below a member of it. */
  recursiveDifference(other: FieldSet): FieldSet {
    return this.#with(prune(this.#root, other.#root));
  }

  /** Members of both sets. */
  intersection(other: FieldSet): FieldSet {
    return this.#with(intersect(this.#root, other.#root));
  }

  /** This set without `path` and everything below it. */
  without(path: readonly string[]): FieldSet {
    return this.recursiveDifference(FieldSet.of(path));
  }

  /** Members at or below one of the patterns; `*` in a pattern matches any element. */
  under(patterns: readonly (readonly string[])[]): FieldSet {
    const kept = new FieldSet();
    for (const path of this.paths()) {
      const matches = (pattern: readonly string[]) =>
        path.every((element, index) => index >= pattern.length || pattern[index] === '*' || pattern[index] === element);
      if (patterns.some(matches)) kept.insert(path);
    }
    return kept;
  }

  /** Every path in Kubernetes' order: the members of a level before those below it. */
  *paths(): Generator<readonly string[]> {
    yield* pathsOf(this.#root, []);
  }

  /** Returns this same set if nothing has changed; callers may rely on it. */
  #with(root: Node): FieldSet {
    return root === this.#root ? this : new FieldSet(root);
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).empty && other.difference(this).empty;
  }

  /** The set as fieldsV1, with elements in Kubernetes' order. */
  toJson(): FieldsV1 {
    return toJson(this.#root);
  }

  /** Reads the output of `toJson`; elements are not checked. */
  static fromJson(json: FieldsV1): FieldSet {
    return new FieldSet(fromJson(json, 'root', (element) => element));
  }

  /** Reads fieldsV1 from a client. Throws SyntaxError or TypeError when it is invalid. */
  static parse(json: unknown): FieldSet {
    return new FieldSet(fromJson(json as FieldsV1, 'root', canonicalElement));
  }
}

function isEmpty(node: Node): boolean {
  if (node.member) return false;
  for (const child of node.children.values()) if (!isEmpty(child)) return false;
  return true;
}

const NOTHING: Node = { member: false, children: new Map() };

/** Unchanged nodes are shared between sets and never changed in place. */
function unite(a: Node, b: Node): Node {
  if (b === NOTHING || (!b.member && b.children.size === 0)) return a;
  if (!a.member && a.children.size === 0) return b;
  const children = new Map(a.children);
  for (const [element, child] of b.children) {
    const own = children.get(element);
    children.set(element, own === undefined ? child : unite(own, child));
  }
  return { member: a.member || b.member, children };
}

/** Adds copies of the nodes of `from` to `into`, in place. */
function addTo(into: Node, from: Node): void {
  into.member ||= from.member;
  for (const [element, child] of from.children) {
    let own = into.children.get(element);
    if (own === undefined) {
      own = { member: false, children: new Map() };
      into.children.set(element, own);
    }
    addTo(own, child);
  }
}

function subtract(a: Node, b: Node): Node {
  return without(a, b, subtract);
}

function prune(a: Node, b: Node): Node {
  return without(a, b, (own, other) => (other.member ? NOTHING : prune(own, other)));
}

/** Removes `b` from `a`; `each` computes the rest of a child that both have. */
function without(a: Node, b: Node, each: (own: Node, other: Node) => Node): Node {
  let children: Map<string, Node> | undefined;
  // Iterates over the smaller set: often small sets are compared with a large one.
  const elements = a.children.size < b.children.size ? a.children.keys() : b.children.keys();
  for (const element of elements) {
    const own = a.children.get(element);
    const child = b.children.get(element);
    if (own === undefined || child === undefined) continue;
    const left = each(own, child);
    if (left === own) continue;
    children ??= new Map(a.children);
    if (!left.member && left.children.size === 0) children.delete(element);
    else children.set(element, left);
  }
  const member = a.member && !b.member;
  return children === undefined && member === a.member ? a : { member, children: children ?? a.children };
}

function intersect(a: Node, b: Node): Node {
  const children = new Map<string, Node>();
  const elements = a.children.size < b.children.size ? a.children.keys() : b.children.keys();
  for (const element of elements) {
    const child = a.children.get(element);
    const other = b.children.get(element);
    const both = child === undefined || other === undefined ? NOTHING : intersect(child, other);
    if (!isEmpty(both)) children.set(element, both);
  }
  return { member: a.member && b.member, children };
}

function* pathsOf(node: Node, path: readonly string[]): Generator<readonly string[]> {
  const sorted = sortedElements(node);
  for (const element of sorted) if (node.children.get(element)?.member === true) yield [...path, element];
  for (const element of sorted) {
    const child = node.children.get(element);
    if (child !== undefined && child.children.size > 0) yield* pathsOf(child, [...path, element]);
  }
}

function sortedElements(node: Node): string[] {
  return sortElements([...node.children.keys()]);
}

function toJson(node: Node): FieldsV1 {
  const out: Record<string, FieldsV1> = {};
  if (node.member && node.children.size > 0) out['.'] = {};
  for (const element of sortedElements(node)) {
    const child = node.children.get(element);
    if (child !== undefined) out[element] = toJson(child);
  }
  return out;
}

function fromJson(json: FieldsV1, place: 'root' | 'inner', elementOf: (text: string) => string): Node {
  if (json === null || typeof json !== 'object' || Array.isArray(json)) throw new TypeError('fields are an object');
  const children = new Map<string, Node>();
  const elements = Object.entries(json);
  for (const [element, child] of elements) {
    if (element !== '.') children.set(elementOf(element), fromJson(child, 'inner', elementOf));
  }
  return { member: '.' in json || (place === 'inner' && elements.length === 0), children };
}
