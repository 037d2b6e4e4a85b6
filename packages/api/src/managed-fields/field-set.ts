/** A node of fieldsV1 as JSON: `{ ".": {}, "f:name": {} }`; an empty node is a member without children. */
export type FieldsV1 = { readonly [element: string]: FieldsV1 };

interface Node {
  member: boolean;
  children: Map<string, Node>;
}

/**
 * A set of field paths. A path's elements are written as in fieldsV1: `f:spec`, `k:{"name":"c"}`, `v:"x"`.
 * Operations give new sets and leave their operands alone.
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
    return new FieldSet(combine(this.#root, other.#root, (a, b) => a || b));
  }

  /** Members of this and not of `other`. */
  difference(other: FieldSet): FieldSet {
    return new FieldSet(combine(this.#root, other.#root, (a, b) => a && !b));
  }

  /** Members of both. */
  intersection(other: FieldSet): FieldSet {
    return new FieldSet(combine(this.#root, other.#root, (a, b) => a && b));
  }

  /** This without `path` and everything below it. */
  without(path: readonly string[]): FieldSet {
    return new FieldSet(prune(this.#root, path));
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
  return !node.member && [...node.children.values()].every(isEmpty);
}

const NOTHING: Node = { member: false, children: new Map() };

function combine(a: Node, b: Node, keep: (a: boolean, b: boolean) => boolean): Node {
  const children = new Map<string, Node>();
  for (const element of new Set([...a.children.keys(), ...b.children.keys()])) {
    const child = combine(a.children.get(element) ?? NOTHING, b.children.get(element) ?? NOTHING, keep);
    if (!isEmpty(child)) children.set(element, child);
  }
  return { member: keep(a.member, b.member), children };
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
