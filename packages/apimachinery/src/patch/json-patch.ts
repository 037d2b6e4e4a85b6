import { setMember } from '@gantry/objects';
import { MAX_DEPTH, NumberLiteral, type Parsed, plainJson } from '../values/json-parser.ts';
import { isPlainObject } from './merge-patch.ts';

/** A patch that cannot be applied to this object. */
export class PatchConflict extends Error {
  override readonly name: string = 'PatchConflict';
}

/** A `test` operation of the patch failed. */
export class PatchTestFailed extends PatchConflict {
  override readonly name = 'PatchTestFailed';
}

export interface JsonPatchOperation {
  readonly op: string;
  readonly path: string;
  readonly from?: string;
  readonly value?: unknown;
}

/** Kubernetes' limit on the size of all copied values as JSON, approximately: a few operations must not create a huge document. */
const MAX_COPIED_BYTES = 3 * 1024 * 1024;

/**
 * The maximum number of items that a patch shifts in lists to make or close a gap, with those that it places: about 40 ms. Kubernetes has no
 * such limit; there, other requests run meanwhile.
 */
const MAX_WORK = 20_000_000;
/** How many shifted items take as long as one value that is placed, whose depth is checked. */
const PLACED = 50;

type Container = unknown[] | Record<string, unknown>;

/** Counts the work of a patch. */
class Work {
  #left = MAX_WORK;

  /** Throws PatchConflict when the patch does too much. */
  take(amount: number): void {
    this.#left -= amount;
    if (this.#left < 0) throw new PatchConflict('the operations move too many values');
  }

  /**
   * Counts a value that is placed at this depth. Throws PatchConflict when the document would become deeper than one that is received: it
   * could not be read again.
   */
  place(value: unknown, depth: number): void {
    this.take(PLACED);
    if (!Array.isArray(value) && !isPlainObject(value)) return;
    if (depth >= MAX_DEPTH) throw new PatchConflict('exceeded max depth');
    for (const item of Object.values(value)) this.place(item, depth + 1);
  }
}

/** The operations of a decoded patch. As in Kubernetes, fields that an operation does not use may have any type. Throws PatchConflict. */
export function readOperations(patch: readonly Parsed[]): readonly JsonPatchOperation[] {
  return patch.map((item) => {
    if (!isPlainObject(item)) throw new PatchConflict('Unexpected kind: unknown');
    const { op, path, from, value } = item;
    const isFromUsed = op === 'move' || op === 'copy';
    if (typeof op !== 'string') throw new PatchConflict('Unexpected kind: unknown');
    if (typeof path !== 'string') throw new PatchConflict('operation missing path field: missing value');
    if (!isFromUsed) return { op, path, value };
    if (typeof from !== 'string') throw new PatchConflict('operation, missing from field: missing value');
    return { op, path, from, value };
  });
}

/**
 * Applies RFC 6902 operations in order and returns the new document. Changes `document`. Behaves as Kubernetes' library,
 * `gopkg.in/evanphx/json-patch.v4`: negative indexes count from the end, an index may have leading zeros and a sign, what stands before the
 * first slash of a path is ignored, and a missing value is null. Only `test` differs: numbers are equal by value, as RFC 6902 says, not by
 * their text. Throws PatchConflict.
 */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  let root = document;
  let copied = 0;
  const work = new Work();
  for (const operation of operations) {
    if (operation.op === 'copy') {
      copied += sizeOf(readItem(root, operation.from ?? ''));
      if (copied > MAX_COPIED_BYTES)
        throw new PatchConflict('unable to copy: the accumulated size of copies is too large');
    }
    root = applyOperation(root, operation, work);
  }
  return root;
}

/** Returns the document, which only `replace` can exchange as a whole. */
function applyOperation(root: unknown, { op, path, from = '', value = null }: JsonPatchOperation, work: Work): unknown {
  switch (op) {
    case 'add':
      add(root, path, copyOf(value), work);
      return root;
    case 'remove':
      remove(root, path, work);
      return root;
    case 'replace': {
      if (path === '') return replaced(value);
      // A missing key is added, as in Kubernetes' library; a missing index is an error.
      const { container, key, depth } = locate(root, path);
      work.place(value, depth);
      if (Array.isArray(container)) container[existingIndex(container, key)] = copyOf(value);
      else setMember(container, key, copyOf(value));
      return root;
    }
    case 'move': {
      const moved = readItem(root, from);
      remove(root, from, work);
      add(root, path, moved, work);
      return root;
    }
    case 'copy':
      add(root, path, copyOf(readItem(root, from) ?? null), work);
      return root;
    case 'test':
      if (!isEqual(path === '' ? root : (readItem(root, path) ?? null), value))
        throw new PatchTestFailed(`testing value ${path} failed: test failed`);
      return root;
    default:
      throw new PatchConflict(`Unexpected kind: ${op}`);
  }
}

function replaced(value: unknown): unknown {
  if (Array.isArray(value) || isPlainObject(value)) return copyOf(value);
  throw new PatchConflict('replace operation value must be object or array');
}

/** Equality of JSON. Numbers compare by value, also those of which a decoded patch keeps the text. */
function isEqual(left: unknown, right: unknown): boolean {
  const [a, b] = [left, right].map((value) => (value instanceof NumberLiteral ? plainJson(value) : value));
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  if (!isPlainObject(a) || !isPlainObject(b)) return a === b;
  const keys = Object.keys(a).filter((key) => a[key] !== undefined);
  const others = Object.keys(b).filter((key) => b[key] !== undefined);
  return keys.length === others.length && keys.every((key) => Object.hasOwn(b, key) && isEqual(a[key], b[key]));
}

/** The approximate length of a value as JSON. */
function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (value === null || typeof value !== 'object') return 4;
  const names = Array.isArray(value) ? [] : Object.keys(value);
  const own = names.reduce((sum, name) => sum + name.length + 4, 2);
  return Object.values(value).reduce((sum: number, item) => sum + sizeOf(item) + 1, own);
}

/** A deep copy of objects and arrays. Other values, such as number literals, are shared. */
function copyOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(copyOf);
  if (!isPlainObject(value)) return value;
  const out: Record<string, unknown> = {};
  for (const key of Object.keys(value)) setMember(out, key, copyOf(value[key]));
  return out;
}

/** The container of the last path step, that step, and the number of steps. */
function locate(root: unknown, path: string): { container: Container; key: string; depth: number } {
  const [, ...steps] = path.split('/', MAX_DEPTH + 2).map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  const depth = steps.length;
  if (depth > MAX_DEPTH) throw new PatchConflict('missing path: it leads deeper than any document');
  const key = steps.pop();
  const container = steps.reduce(child, root);
  if (key === undefined || !(Array.isArray(container) || isPlainObject(container)))
    throw new PatchConflict(`doc is missing path: ${path}: missing value`);
  return { container, key, depth };
}

function child(container: unknown, key: string): unknown {
  if (Array.isArray(container)) {
    const index = indexOf(key, container.length);
    return index === undefined ? undefined : container[index];
  }
  return isPlainObject(container) && Object.hasOwn(container, key) ? container[key] : undefined;
}

/** The index of an existing item, in any form that Go's `strconv.Atoi` reads; undefined when there is none. */
function indexOf(key: string, length: number): number | undefined {
  if (!/^[+-]?[0-9]+$/.test(key)) return undefined;
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  return index >= 0 && index < length ? index : undefined;
}

function existingIndex(list: readonly unknown[], key: string): number {
  const index = indexOf(key, list.length);
  if (index === undefined) throw new PatchConflict(`unable to access invalid index: ${key}`);
  return index;
}

/** The value at a path; undefined for a missing key. Throws for a missing container or index. */
function readItem(root: unknown, path: string): unknown {
  const { container, key } = locate(root, path);
  return Array.isArray(container) ? container[existingIndex(container, key)] : child(container, key);
}

function add(root: unknown, path: string, value: unknown, work: Work): void {
  const { container, key, depth } = locate(root, path);
  work.place(value, depth);
  if (!Array.isArray(container)) {
    setMember(container, key, value);
    return;
  }
  const index = key === '-' ? container.length : indexOf(key, container.length + 1);
  if (index === undefined) throw new PatchConflict(`unable to access invalid index: ${key}`);
  work.take(container.length - index);
  container.splice(index, 0, value);
}

function remove(root: unknown, path: string, work: Work): void {
  const { container, key } = locate(root, path);
  if (Array.isArray(container)) {
    const index = existingIndex(container, key);
    work.take(container.length - index);
    container.splice(index, 1);
    return;
  }
  if (!Object.hasOwn(container, key))
    throw new PatchConflict(`unable to remove nonexistent key: ${key}: missing value`);
  delete container[key];
}
