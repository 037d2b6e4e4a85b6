import { type KubeObject, StatusError } from '@gantry/objects';

/** A file of a run's folder. */
export interface RunFile {
  /** `etcd/etcd-0.jsonl`, in the run's folder. */
  readonly path: string;
  readonly size: number;
  text(): Promise<string>;
  /** Each ends with a line feed. */
  lines(): AsyncIterable<string>;
}

/** The files are not those of a recorded run, or too large. The message names the file and the field. */
export class RecordingError extends Error {
  override readonly name = 'RecordingError';
}

/** Of all files that are read: the values stay in the browser's memory. */
const MAX_BYTES = 1024 * 2 ** 20;
/** The times of RFC 3339 and revisions that have versions. */
const MAX_TIME_MS = Date.parse('9999-12-31T23:59:59Z');
const MAX_REVISION = 2 ** 44;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const VERSIONS_PER_REVISION = 256;
const REGISTRY = '/registry/';
/** API groups without a dot. Any other first segment without a dot is a resource of the core group. */
const DOTLESS_GROUPS: ReadonlySet<string> = new Set(['apps', 'autoscaling', 'batch', 'extensions', 'policy']);
/** A mark of the slider for each so many milliseconds. */
const MARK_MS = 1_000;

/** One state of a key. */
interface Version {
  readonly revision: number;
  /** Base64; undefined for a deletion. */
  readonly value: string | undefined;
}

interface Key {
  /** `pods`, `deployments.apps`: the id of its kind. */
  readonly kind: string;
  readonly namespace: string;
  readonly versions: Version[];
}

/** A kind as its objects say. */
export interface RecordedKind {
  readonly id: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
}

/** A moment of the history: the version of all objects, and Unix milliseconds. */
export interface Mark {
  readonly version: number;
  readonly at: number;
}

/** The history of etcd in a run of faults, as the chaos command has recorded it (docs/chaos-checker.md). */
export class Recording {
  readonly name: string;
  readonly clusterId: string;
  readonly kinds: readonly RecordedKind[];
  /** The oldest first; there is at least one. */
  readonly marks: readonly Mark[];
  readonly #keys: ReadonlyMap<string, readonly Key[]>;

  constructor(name: string, clusterId: string, keys: Iterable<Key>, marks: readonly Mark[]) {
    this.name = name;
    this.clusterId = clusterId;
    this.marks = marks;
    this.#keys = Map.groupBy(keys, ({ kind }) => kind);
    this.kinds = [...this.#keys].flatMap(([id, of]) => kindOf(id, of));
  }

  /** The objects of a kind at a version, those of one namespace or of all (''), in the order of their keys. Sealed ones are left out. */
  objectsAt(kind: string, namespace: string, version: number): readonly KubeObject[] {
    const revision = Math.floor(version / VERSIONS_PER_REVISION);
    return (this.#keys.get(kind) ?? []).flatMap((key) => {
      if (namespace !== '' && key.namespace !== namespace) return [];
      const found = key.versions.findLast((one) => one.revision <= revision);
      return found?.value === undefined ? [] : (objectOf(found.value, found.revision) ?? []);
    });
  }
}

/** Reads the files of a run's folder. Throws RecordingError. */
export async function readRecording(name: string, files: readonly RunFile[]): Promise<Recording> {
  const initial = files.find(({ path }) => path === 'etcd/initial.jsonl');
  const run = files.find(({ path }) => path === 'run.json');
  const members = files.filter(({ path }) => /^etcd\/[^/]+\.jsonl$/.test(path) && path !== 'etcd/initial.jsonl');
  if (initial === undefined || run === undefined || members.length === 0)
    throw new RecordingError('the folder is not that of a run: it needs run.json and etcd/*.jsonl');
  const read = [run, initial, ...members];
  if (read.reduce((sum, { size }) => sum + size, 0) > MAX_BYTES)
    throw new RecordingError(`the files have more than ${MAX_BYTES / 2 ** 20} MiB`);
  const facts = await readFacts(run);
  const history = new History(facts.startedAt - facts.startedAtMs);
  for await (const [line, where] of parsed(initial)) {
    const revision = revisionOf(line, 'revision', where);
    for (const key of listOf(line, 'keys', where))
      history.put(textOf(key, 'key', where), revision, base64Of(key, 'value', where));
    history.mark(revision, facts.startedAtMs);
  }
  // Each member has reported all events, unless a fault kept it from it: what one lacks, another has.
  for (const member of members)
    for await (const [line, where] of parsed(member)) {
      if (!Array.isArray(line['events'])) continue;
      const atMs = timeOf(line, 'atMs', where);
      for (const event of listOf(line, 'events', where)) {
        const value = event['type'] === 'delete' ? undefined : base64Of(event, 'value', where);
        const revision = revisionOf(event, 'modRevision', where);
        history.put(textOf(event, 'key', where), revision, value);
        history.mark(revision, atMs);
      }
    }
  return new Recording(name, facts.clusterId, history.keys(), history.marks());
}

type Line = Readonly<Record<string, unknown>>;

async function readFacts(file: RunFile) {
  const run = parse(await file.text(), file.path);
  const startedAt = Date.parse(textOf(run, 'startedAt', file.path));
  if (!isTime(startedAt)) throw new RecordingError(`${file.path}: startedAt is no time`);
  return {
    startedAt,
    startedAtMs: timeOf(run, 'startedAtMs', file.path),
    clusterId: textOf(run, 'clusterId', file.path),
  };
}

/** Collects states of keys, in any order. */
class History {
  readonly #keys = new Map<string, Key & { readonly known: Map<number, Version> }>();
  readonly #times = new Map<number, number>();
  readonly #offsetMs: number;

  /** What is added to the times of lines for Unix milliseconds. */
  constructor(offsetMs: number) {
    this.#offsetMs = offsetMs;
  }

  put(key: string, revision: number, value: string | undefined): void {
    if (!key.startsWith(REGISTRY)) return;
    let known = this.#keys.get(key);
    if (known === undefined) {
      const place = placeOf(key);
      if (place === undefined) return;
      known = { ...place, versions: [], known: new Map() };
      this.#keys.set(key, known);
    }
    known.known.set(revision, { revision, value });
  }

  /** A revision was seen at a time: the first member that reported it counts. */
  mark(revision: number, atMs: number): void {
    const before = this.#times.get(revision) ?? Number.POSITIVE_INFINITY;
    this.#times.set(revision, Math.min(before, atMs));
  }

  *keys(): Iterable<Key> {
    const sorted = [...this.#keys].sort(([one], [other]) => (one < other ? -1 : 1));
    for (const [, { kind, namespace, known }] of sorted) {
      const versions = [...known.values()].sort((one, other) => one.revision - other.revision);
      yield { kind, namespace, versions };
    }
  }

  marks(): readonly Mark[] {
    const marks: Mark[] = [];
    let last: Mark | undefined;
    for (const [revision, atMs] of [...this.#times].sort(([one], [other]) => one - other)) {
      // The last write of a revision.
      last = { version: (revision + 1) * VERSIONS_PER_REVISION - 1, at: Math.round(this.#offsetMs + atMs) };
      const before = marks.at(-1);
      if (before === undefined || last.at - before.at >= MARK_MS) marks.push(last);
    }
    if (last !== undefined && marks.at(-1) !== last) marks.push(last);
    return marks;
  }
}

function placeOf(key: string): Pick<Key, 'kind' | 'namespace'> | undefined {
  const segments = key.slice(REGISTRY.length).split('/');
  const [first = '', second = ''] = segments;
  const isGrouped = first.includes('.') || DOTLESS_GROUPS.has(first);
  const rest = segments.slice(isGrouped ? 2 : 1);
  if (rest.length === 0 || rest.length > 2 || rest.includes('')) return undefined;
  const namespace = rest.length === 2 ? (rest[0] ?? '') : '';
  return { kind: isGrouped ? `${second}.${first}` : first, namespace };
}

/** By the newest object that can be read; none without one. */
function kindOf(id: string, keys: readonly Key[]): readonly RecordedKind[] {
  for (const { namespace, versions } of keys) {
    const stored = versions.findLast(({ value }) => value !== undefined);
    const object = stored?.value === undefined ? undefined : objectOf(stored.value, stored.revision);
    if (object === undefined) continue;
    const [version = '', group = ''] = object.apiVersion.split('/').reverse();
    const resource = id.split('.')[0] ?? id;
    return [{ id, group, version, resource, kind: object.kind, isNamespaced: namespace !== '' }];
  }
  return [];
}

/** Decodes a stored value (docs/storage.md). Undefined if it is sealed, or is no object with a kind and a name. */
function objectOf(base64: string, revision: number): KubeObject | undefined {
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const [format, sealing, index = 0] = bytes;
  if (format !== 1 || sealing !== 0 || bytes.length < 6) return undefined;
  const header = new DataView(bytes.buffer).getUint16(4);
  try {
    const object: unknown = JSON.parse(new TextDecoder().decode(bytes.subarray(header)));
    if (!isKubeObject(object)) return undefined;
    const resourceVersion = String(revision * VERSIONS_PER_REVISION + index);
    return { ...object, metadata: { ...object.metadata, resourceVersion } };
  } catch {
    return undefined;
  }
}

function isKubeObject(value: unknown): value is KubeObject & { readonly apiVersion: string; readonly kind: string } {
  const { apiVersion, kind, metadata } = (value ?? {}) as Partial<Record<keyof KubeObject, unknown>>;
  const { name } = (metadata ?? {}) as { readonly name?: unknown };
  return [apiVersion, kind, name].every((one) => typeof one === 'string' && one !== '');
}

async function* parsed(file: RunFile): AsyncIterable<readonly [Line, string]> {
  let number = 0;
  try {
    for await (const line of file.lines()) {
      number++;
      if (line !== '') yield [parse(line, `${file.path}:${number}`), `${file.path}:${number}`];
    }
  } catch (error) {
    // A line is too long.
    if (!(error instanceof StatusError)) throw error;
    throw new RecordingError(`${file.path}:${number + 1}: ${error.message}`);
  }
}

function parse(text: string, where: string): Line {
  try {
    const value: unknown = JSON.parse(text);
    if (isLine(value)) return value;
  } catch {
    // The error below says it.
  }
  throw new RecordingError(`${where}: is no JSON object`);
}

function isLine(value: unknown): value is Line {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textOf(line: Line, field: string, where: string): string {
  const value = line[field];
  if (typeof value !== 'string') throw new RecordingError(`${where}: ${field} is no text`);
  return value;
}

function base64Of(line: Line, field: string, where: string): string {
  const value = textOf(line, field, where);
  if (value.length % 4 !== 0 || !BASE64.test(value)) throw new RecordingError(`${where}: ${field} is no base64`);
  return value;
}

function revisionOf(line: Line, field: string, where: string): number {
  const value = line[field];
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_REVISION) return value;
  throw new RecordingError(`${where}: ${field} is no revision`);
}

function timeOf(line: Line, field: string, where: string): number {
  const value = line[field];
  if (typeof value === 'number' && isTime(value)) return value;
  throw new RecordingError(`${where}: ${field} is no time in milliseconds`);
}

/** JavaScript can represent the sum and the difference of two such times as a date. */
function isTime(ms: number): boolean {
  return ms >= 0 && ms <= MAX_TIME_MS;
}

function listOf(line: Line, field: string, where: string): readonly Line[] {
  const value = line[field];
  if (!Array.isArray(value)) throw new RecordingError(`${where}: ${field} is no list`);
  value.forEach((one: unknown, index) => {
    if (!isLine(one)) throw new RecordingError(`${where}: ${field}[${index}] is no object`);
  });
  return value as readonly Line[];
}
