import { equalJson, setMember } from '@gantry/objects';
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

/** Documents are at most a thousand levels deep, and a patch of 3 MiB cannot make one much deeper. */
const MAX_STEPS = 4000;

type Container = unknown[] | Record<string, unknown>;

/**
 * Applies RFC 6902 operations in order and returns the new document. Changes `document`. Negative indexes count from the end, as in
 * Kubernetes' library. Throws PatchConflict.
 */
export function applyJsonPatch(document: unknown, operations: readonly JsonPatchOperation[]): unknown {
  const holder: Record<string, unknown> = { root: document };
  let copied = 0;
  for (const operation of operations) {
    if (operation.op === 'copy') {
      copied += sizeOf(tryRead(holder, operation.from ?? ''));
      if (copied > MAX_COPIED_BYTES)
        throw new PatchConflict('unable to copy: the accumulated size of copies is too large');
    }
    applyOperation(holder, operation);
  }
  return holder.root;
}

function applyOperation(holder: Record<string, unknown>, { op, path, from = '', value }: JsonPatchOperation): void {
  switch (op) {
    case 'add':
      add(holder, path, copyOf(value ?? null));
      return;
    case 'remove':
      remove(holder, path);
      return;
    case 'replace':
      // A missing key is added, as in Kubernetes' library; a missing index is an error.
      if (isArrayItem(holder, path)) remove(holder, path);
      add(holder, path, copyOf(value ?? null));
      return;
    case 'move': {
      const moved = read(holder, from);
      remove(holder, from);
      add(holder, path, moved);
      return;
    }
    case 'copy':
      add(holder, path, copyOf(isArrayItem(holder, from) ? read(holder, from) : (tryRead(holder, from) ?? null)));
      return;
    case 'test':
      if (!equalJson(tryRead(holder, path) ?? null, value ?? null))
        throw new PatchTestFailed(`testing value ${path} failed: test failed`);
      return;
    default:
      throw new PatchConflict(`Unexpected kind: ${op}`);
  }
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

/** The container of the last path step, and that step. The document itself is `root` of the holder. */
function locate(holder: Record<string, unknown>, path: string): { container: Container; key: string } {
  if (path !== '' && !path.startsWith('/')) throw new PatchConflict(`missing path: ${path}`);
  const parts = path.split('/', MAX_STEPS);
  if (parts.length === MAX_STEPS) throw new PatchConflict('missing path: it leads deeper than any document');
  const steps = parts.map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
  steps[0] = 'root';
  const key = steps.pop() ?? 'root';
  let container: unknown = holder;
  for (const step of steps) {
    container = child(container, step);
    if (container === undefined) throw new PatchConflict(`doc is missing path: ${path}: missing value`);
  }
  if (container === null || typeof container !== 'object')
    throw new PatchConflict(`doc is missing path: ${path}: missing value`);
  return { container: container as Container, key };
}

function child(container: unknown, key: string): unknown {
  if (Array.isArray(container)) {
    const index = indexOf(key, container.length);
    return index === undefined ? undefined : container[index];
  }
  if (container === null || typeof container !== 'object' || !Object.hasOwn(container, key)) return undefined;
  return (container as Record<string, unknown>)[key];
}

/** The index of an existing item; undefined when there is none. */
function indexOf(key: string, length: number): number | undefined {
  if (!/^-?(0|[1-9][0-9]*)$/.test(key)) return undefined;
  const index = Number(key) < 0 ? Number(key) + length : Number(key);
  return index >= 0 && index < length ? index : undefined;
}

function tryRead(holder: Record<string, unknown>, path: string): unknown {
  const { container, key } = locate(holder, path);
  return child(container, key);
}

function read(holder: Record<string, unknown>, path: string): unknown {
  const value = tryRead(holder, path);
  if (value === undefined) throw new PatchConflict(`missing key: ${path}: missing value`);
  return value;
}

function isArrayItem(holder: Record<string, unknown>, path: string): boolean {
  return Array.isArray(locate(holder, path).container);
}

function add(holder: Record<string, unknown>, path: string, value: unknown): void {
  const { container, key } = locate(holder, path);
  if (!Array.isArray(container)) {
    setMember(container, key, value);
    return;
  }
  const index = key === '-' ? container.length : indexOf(key, container.length + 1);
  if (index === undefined) throw new PatchConflict(`unable to access invalid index: ${key}`);
  container.splice(index, 0, value);
}

function remove(holder: Record<string, unknown>, path: string): void {
  const { container, key } = locate(holder, path);
  if (Array.isArray(container)) {
    const index = indexOf(key, container.length);
    if (index === undefined) throw new PatchConflict(`unable to access invalid index: ${key}`);
    container.splice(index, 1);
    return;
  }
  if (!Object.hasOwn(container, key))
    throw new PatchConflict(`unable to remove nonexistent key: ${key}: missing value`);
  delete container[key];
}
