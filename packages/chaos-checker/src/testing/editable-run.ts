import { Buffer } from 'node:buffer';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { gunzipSync } from 'node:zlib';
import type {
  ClientLine,
  ClientOperation,
  ClientWatch,
  EngineLine,
  EtcdEvent,
  FaultLine,
  InitialKeys,
  MetricLine,
  Run,
} from '../artifacts.ts';
import type { ApiObject } from '../history/api-objects.ts';
import { decodeStored, REGISTRY } from '../history/stored-value.ts';
import { encodeStored, type Header } from './encode-stored.ts';

type Mutable<T> = T extends object ? { -readonly [K in keyof T]: Mutable<T[K]> } : T;

/** An object that tests change. */
export type EditableObject = Mutable<ApiObject>;
export type ContainerEvent = Exclude<EngineLine, { snapshot: unknown }>;
export type PutEvent = Extract<EtcdEvent, { type: 'put' }>;

/** The events of one revision. */
export interface EditableRevision {
  atMs: number;
  readonly revision: number;
  events: EtcdEvent[];
}

/** A run of faults in memory, which tests change and write to a folder. */
export interface EditableRun {
  run: Run;
  readonly initial: InitialKeys;
  readonly history: EditableRevision[];
  readonly engine: EngineLine[];
  readonly faults: FaultLine[];
  /** By file. */
  readonly clients: Map<string, ClientLine[]>;
  readonly metrics: Map<string, MetricLine[]>;
}

/** In the fixture, a stored value is its header and its JSON, which compresses better than the base64 of both. */
interface PackedValue {
  readonly header?: string;
  readonly json?: string;
}

/** The run that was recorded from a cluster; faults: a scheduler killed, a controller-manager paused, an agent killed. */
export async function readRecordedRun(): Promise<EditableRun> {
  const packed = await readFile(new URL('../../fixtures/recorded-run.json.gz', import.meta.url));
  const files = JSON.parse(gunzipSync(packed).toString()) as Record<string, unknown[]>;
  const lines = <T>(file: string) => (files[file] ?? []) as T[];
  const inFolder = <T>(part: string) =>
    new Map(
      Object.keys(files).flatMap((file) =>
        file.startsWith(`${part}/`) ? [[file.slice(part.length + 1), lines<T>(file)]] : [],
      ),
    );
  const history: EditableRevision[] = [];
  for (const line of lines<{ atMs: number; events?: (EtcdEvent & PackedValue)[] }>('etcd/etcd-0.jsonl')) {
    for (const event of (line.events ?? []).map(unpack)) {
      const last = history.at(-1);
      if (last?.revision === event.modRevision) last.events.push(event);
      else history.push({ atMs: line.atMs, revision: event.modRevision, events: [event] });
    }
  }
  const initial = lines<InitialKeys>('etcd/initial.jsonl')[0] ?? { revision: 0, keys: [] };
  return {
    run: lines<Run>('run.json')[0] as Run,
    initial: { ...initial, keys: initial.keys.map(unpack) },
    history,
    engine: lines('engine/local.jsonl'),
    faults: lines('faults.jsonl'),
    clients: inFolder('clients'),
    metrics: inFolder('metrics'),
  };
}

function unpack<T extends object & PackedValue>({ header, json, ...rest }: T): T {
  if (header === undefined || json === undefined) return rest as T;
  return {
    ...rest,
    value: Buffer.concat([Buffer.from(header, 'base64'), Buffer.from(json)]).toString('base64'),
  } as unknown as T;
}

/** Writes the run to a new folder, with `more` files. It is removed when disposed of. */
export async function writeRun(run: EditableRun, more: Readonly<Record<string, readonly object[]>> = {}) {
  const folder = await mkdtemp(path.join(tmpdir(), 'chaos-checker-'));
  const history = run.history.map(({ atMs, revision, events }) => ({ atMs, revision, events }));
  const files: Record<string, readonly object[]> = {
    'etcd/initial.jsonl': [run.initial],
    ...Object.fromEntries(run.run.etcdMembers.map((member) => [`etcd/${member}.jsonl`, history])),
    'engine/local.jsonl': byTime(run.engine),
    'faults.jsonl': run.faults,
    ...Object.fromEntries([...run.clients].map(([file, lines]) => [`clients/${file}`, lines])),
    ...Object.fromEntries([...run.metrics].map(([file, lines]) => [`metrics/${file}`, lines])),
    ...more,
  };
  for (const part of ['etcd', 'engine', 'clients', 'metrics']) await mkdir(path.join(folder, part));
  await writeFile(path.join(folder, 'run.json'), JSON.stringify(run.run));
  for (const [file, lines] of Object.entries(files)) {
    await writeFile(path.join(folder, file), lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  }
  return {
    folder,
    [Symbol.asyncDispose]: async () => {
      await rm(folder, { recursive: true });
    },
  };
}

function byTime<T extends { atMs: number }>(lines: readonly T[]): readonly T[] {
  return lines.toSorted((one, other) => one.atMs - other.atMs);
}

/** A put of an object with its decoded value. */
export interface ObjectPut {
  readonly at: EditableRevision;
  readonly event: PutEvent;
  readonly object: EditableObject;
  readonly header: Header;
}

/** Puts of objects whose key begins with `/registry/` and `prefix`, in order. */
export function putsOf(run: EditableRun, prefix: string): readonly ObjectPut[] {
  return run.history.flatMap((at) =>
    at.events.flatMap((event) => {
      if (event.type !== 'put' || !event.key.startsWith(REGISTRY + prefix)) return [];
      const decoded = decodeStored(Buffer.from(event.value, 'base64'));
      if (typeof decoded === 'string' || decoded.json === undefined) return [];
      return [{ at, event, object: JSON.parse(decoded.json) as EditableObject, header: decoded }];
    }),
  );
}

/** Changes the object of each put, and its header. */
export function edit(puts: readonly ObjectPut[], change: (object: EditableObject) => void, header: Header = {}): void {
  for (const put of puts) {
    change(put.object);
    const value = encodeStored(put.object, { ...put.header, ...header }).toString('base64');
    Object.assign(put.event, { value });
  }
}

/** Adds the creation of an object to a revision. */
export function addObject(at: EditableRevision, resource: string, object: EditableObject, header: Header = {}): void {
  const { namespace, name } = object.metadata ?? {};
  const key = `${REGISTRY}${resource}/${namespace === undefined ? '' : `${namespace}/`}${name}`;
  const value = encodeStored(object, { index: at.events.length, ...header }).toString('base64');
  at.events.push({ type: 'put', key, value, createRevision: at.revision, modRevision: at.revision, version: 1 });
}

/** The first revision that is at least as late. */
export function revisionAt(run: EditableRun, atMs: number): EditableRevision {
  return found(
    run.history.find((one) => one.atMs >= atMs),
    `a revision at ${atMs}`,
  );
}

/** Lines of all clients' requests, in the order of the files. */
export function requestsOf(run: EditableRun): readonly Mutable<ClientOperation>[] {
  return [...run.clients.values()].flat().filter((line) => 'op' in line);
}

/** The file with a client's watches, and their items. */
export function watchFile(run: EditableRun): ClientWatch[] {
  const files = [...run.clients.values()];
  return found(
    files.find((lines) => lines.some((line) => 'watch' in line)),
    'a file of watches',
  ) as ClientWatch[];
}

/** The starts of containers of pods whose name begins with `prefix`. */
export function startsOf(run: EditableRun, prefix: string): readonly ContainerEvent[] {
  return run.engine.filter(
    (line): line is ContainerEvent =>
      'action' in line && line.action === 'start' && line.labels['io.kubernetes.pod.name']?.startsWith(prefix) === true,
  );
}

/** Fails the test if the recorded run has not what a mutation changes. */
export function found<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new TypeError(`the recorded run has no ${what}`);
  return value;
}
