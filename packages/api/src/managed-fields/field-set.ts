/** A node of fieldsV1 as JSON: `{ ".": {}, "f:name": {} }`; an empty node is a member without children. */
export type FieldsV1 = { readonly [element: string]: FieldsV1 };

interface Node {
  member: boolean;
  children: Map<string, Node>;
}

/**
 * A set of field paths. A path's elements are written as in fieldsV1: `f:spec`, `k:{"name":"c"}`, `v:"x"`.
 * Operations give sets of their own and leave their operands alone; `insert` is for the set's maker, before it is used.
 */
export class FieldSet {
  readonly #root: Node;

  constructor(root: Node = { member: false, children: new Map() }) {
    this.#root = root;
  }

  get empty(): boolean {
    return isEmpty(this.#root);
  }

  /** Adds a path to this very set. */
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

  /** Members of either. */
  union(other: FieldSet): FieldSet {
    return this.#with(unite(this.#root, other.#root));
  }

  /** Members of this and not of `other`. */
  difference(other: FieldSet): FieldSet {
    return this.#with(subtract(this.#root, other.#root));
  }

  /** Members of both. */
  intersection(other: FieldSet): FieldSet {
    return this.#with(intersect(this.#root, other.#root));
  }

  /** This without `path` and everything below it. */
  without(path: readonly string[]): FieldSet {
    return new FieldSet(prune(this.#root, path));
  }

  /** This very set when nothing has changed, which callers may rely on. */
  #with(root: Node): FieldSet {
    return root === this.#root ? this : new FieldSet(root);
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).empty && other.difference(this).empty;
  }

  /** As fieldsV1, elements sorted as Kubernetes sorts them. */
  toJson(): FieldsV1 {
    return toJson(this.#root);
  }

  static fromJson(json: FieldsV1): FieldSet {
    return new FieldSet(fromJson(json, 'root'));
  }
}

function isEmpty(node: Node): boolean {
  if (node.member) return false;
  for (const child of node.children.values()) if (!isEmpty(child)) return false;
  return true;
}

const NOTHING: Node = { member: false, children: new Map() };

/** Parts that do not change are shared between a set and what is made of it, never changed in place. */
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

function subtract(a: Node, b: Node): Node {
  let children: Map<string, Node> | undefined;
  for (const [element, child] of b.children) {
    const own = a.children.get(element);
    if (own === undefined) continue;
    const left = subtract(own, child);
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
  for (const [element, child] of a.children) {
    const other = b.children.get(element);
    const both = other === undefined ? NOTHING : intersect(child, other);
    if (!isEmpty(both)) children.set(element, both);
  }
  return { member: a.member && b.member, children };
}

function prune(node: Node, [element, ...rest]: readonly string[]): Node {
  const child = element === undefined ? undefined : node.children.get(element);
  if (element === undefined || child === undefined) return node;
  const children = new Map(node.children);
  const pruned = rest.length === 0 ? NOTHING : prune(child, rest);
  if (isEmpty(pruned)) children.delete(element);
  else children.set(element, pruned);
  return { member: node.member, children };
}

function toJson(node: Node): FieldsV1 {
  const out: Record<string, FieldsV1> = {};
  const hasChildren = node.children.size > 0;
  if (node.member && hasChildren) out['.'] = {};
  for (const element of [...node.children.keys()].sort()) {
    const child = node.children.get(element);
    if (child !== undefined) out[element] = toJson(child);
  }
  return out;
}

function fromJson(json: FieldsV1, place: 'root' | 'inner'): Node {
  const children = new Map<string, Node>();
  const elements = Object.entries(json);
  for (const [element, child] of elements) {
    if (element !== '.') children.set(element, fromJson(child, 'inner'));
  }
  return { member: '.' in json || (place === 'inner' && elements.length === 0), children };
}
