import { z } from 'zod';

// What a run of faults leaves in its folder. All `atMs` are milliseconds of one monotonic clock of the runner.

const text = z.string();
const ms = z.number().nonnegative();
const count = z.number().int().nonnegative();
const texts = z.record(text, text);
const base64 = z.base64();

/** One fault of a schedule: what happens to whom, when and how long. */
export const PLANNED_FAULT = z.looseObject({ id: text, kind: text, target: text, atMs: ms, durationMs: ms.optional() });

/**
 * `run.json`: one object. Unknown fields are kept; a report prints them. `begun.json` is the same at the beginning of the run, with the
 * beginning as its end.
 */
export const RUN = z.looseObject({
  format: z.literal(1),
  clusterId: text,
  seed: z.number().int(),
  startedAt: z.iso.datetime(),
  endedAt: z.iso.datetime(),
  /** `atMs` of `startedAt`. */
  startedAtMs: ms,
  /** `atMs` of `endedAt`. */
  endedAtMs: ms,
  /** The command's options, as text. */
  options: z.record(text, z.unknown()),
  plan: z.array(PLANNED_FAULT),
  /** The value of `/gantry/incarnation` at the start; '' at Kubernetes. */
  incarnation: text,
  /** Whose keys and values etcd has; Gantry's if absent. Kubernetes' API server must store JSON. */
  storage: z.enum(['gantry', 'kubernetes']).optional(),
  etcdMembers: z.array(text).min(1),
  /** `etcd/initial.jsonl` is the state at the revision before this one, and each member's history begins here. */
  firstRevision: count.min(1),
  lastRevision: count,
  /** The revision after which neither faults nor workloads changed anything; absent if the run was ended before. */
  quietFromRevision: count.optional(),
  /** `atMs` of that. */
  quietFromMs: ms.optional(),
  /** The command that repeats the run. */
  replay: text.optional(),
});

/** A key as a range request returns it. The value may be a sealed object. */
const KEY_VALUE = z.object({
  key: text,
  value: base64,
  createRevision: count,
  modRevision: count,
  version: count,
});

/** `etcd/initial.jsonl`: the keys at `firstRevision` - 1, any number of keys a line, the revision in each line. */
export const INITIAL_KEYS = z.object({ revision: count, keys: z.array(KEY_VALUE) });

const ETCD_EVENT = z.discriminatedUnion('type', [
  KEY_VALUE.extend({ type: z.literal('put') }),
  z.object({ type: z.literal('delete'), key: text, modRevision: count }),
]);

/**
 * `etcd/<member>.jsonl`: one member's answers to a watch of all keys, in the order in which they arrived. After a fault the watch
 * is opened again at the last revision + 1. `compacted` says that it could not be: events between the two revisions are unknown.
 */
export const ETCD_LINE = z.union([
  z.object({ atMs: ms, revision: count, events: z.array(ETCD_EVENT) }),
  z.object({ atMs: ms, opened: z.object({ fromRevision: count }) }),
  z.object({ atMs: ms, compacted: z.object({ fromRevision: count, compactRevision: count }) }),
]);

/** A container as Docker lists it. */
const CONTAINER = z.object({
  id: text,
  name: text,
  /** created, running, paused, restarting, removing, exited or dead. */
  state: text,
  labels: texts,
  networks: z.array(text).optional(),
});

/**
 * `engine/<host>.jsonl`: events of one Docker Engine, and lists of its containers at the start, at the end and after each gap of the
 * stream. `gapSinceMs` with a list: events since then may be missing.
 */
export const ENGINE_LINE = z.union([
  z.object({
    atMs: ms,
    /** create, start, die, kill, pause, unpause, stop, oom, rename, destroy, ... */
    action: text,
    id: text,
    name: text.optional(),
    labels: texts,
    exitCode: z.number().int().optional(),
  }),
  z.object({ atMs: ms, snapshot: z.array(CONTAINER), gapSinceMs: ms.optional() }),
]);

/** `faults.jsonl`. `healthy`: the cluster was seen healthy after the fault. */
export const FAULT_LINE = z.object({
  atMs: ms,
  id: text,
  kind: text,
  target: text,
  phase: z.enum(['start', 'heal', 'healthy']),
  detail: text.optional(),
});

/** One step of a request of a client. `id` is unique in the file. `unknown`: no response, it may have been done, or be done later. */
const CLIENT_OPERATION = z.object({
  atMs: ms,
  op: text,
  phase: z.enum(['invoke', 'ok', 'fail', 'unknown']),
  verb: z.enum(['get', 'list', 'create', 'update', 'patch', 'apply', 'delete', 'evict']),
  /** `<resource>` or `<group>/<resource>`, as in etcd's key. */
  resource: text,
  /** `<namespace>/<name>`, or `<name>` of a cluster-scoped object. */
  key: text,
  /** invoke: the precondition. ok: the version in the response. Absent: none. */
  resourceVersion: text.optional(),
  uid: text.optional(),
  /** invoke: what is written. ok of a read: what was read; absent if there was no object. Values of one object are unique. */
  value: text.optional(),
  fieldManager: text.optional(),
  /** invoke: when the request was due, of a load at a rate. It is sent later if the client still waited for the one before. */
  dueMs: ms.optional(),
  /** invoke: `op` of the first attempt that this one repeats, of a load at a rate. */
  repeats: text.optional(),
  error: z.object({ code: z.number().int().optional(), reason: text.optional(), message: text }).optional(),
});

/** One item of a watch of the API. `OPEN` has the version to begin at, `CLOSE` ends it, `ERROR` has the status code. */
const CLIENT_WATCH = z.object({
  atMs: ms,
  watch: text,
  type: z.enum(['OPEN', 'ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', 'CLOSE']),
  /** OPEN: what is watched, as in etcd's key. */
  resource: text.optional(),
  /** OPEN: only this namespace. */
  namespace: text.optional(),
  resourceVersion: text.optional(),
  uid: text.optional(),
  key: text.optional(),
  code: z.number().int().optional(),
});

/**
 * What a workload saw outside the API:
 *
 * | observe | key | value | who writes it |
 * | --- | --- | --- | --- |
 * | `served` | Service `ns/name` | uid of the pod that responded | a client of a Service, at the time of the response. `readiness` is `never` if the pod says that none of its readiness probes has succeeded |
 * | `refused` | Service `ns/name` | the error | the same, without a response |
 * | `job-done` | Job `ns/name` | `<completion index or mark>@<pod uid>` | the mark that a Job's pod leaves |
 * | `leads` | election key or Lease `ns/name` | identity | a leader, when its term begins by its own clock |
 * | `leads-not` | the same | identity | when its term is over by its own clock |
 * | `appended` | file of a StatefulSet's pod `ns/name` | `<number>@<pod uid>` | a client that appends to a file, when acknowledged |
 * | `file` | the same | numbers that the file has, separated by commas | at the end |
 */
const OBSERVATION = z.object({
  atMs: ms,
  observe: z.enum(['served', 'refused', 'job-done', 'leads', 'leads-not', 'appended', 'file']),
  key: text,
  value: text,
  readiness: z.literal('never').optional(),
});

/** `clients/<workload>-<n>.jsonl`: what one client did and saw, in order. */
export const CLIENT_LINE = z.union([CLIENT_OPERATION, CLIENT_WATCH, OBSERVATION]);

/**
 * `metrics/<service>.jsonl`: one sample a line. The scrape was sent at `sentMs` and answered at `atMs`. `instance` tells replicas apart:
 * the name of the container. `tookMs` is the time from the request to the response as seen beside the process, without the start of the
 * program that asks.
 */
export const METRIC_LINE = z.object({
  atMs: ms,
  sentMs: ms,
  tookMs: ms.optional(),
  instance: text,
  name: text,
  labels: texts,
  value: z.number(),
});

/**
 * `undisturbed.jsonl` (optional): the keys at the end of the same workload without faults, as in `etcd/initial.jsonl`. The end state
 * must equal it.
 */
export const UNDISTURBED_KEYS = INITIAL_KEYS;

/**
 * `restores.jsonl` (optional): a snapshot was restored while the run went on, which cuts etcd's history. What was written after
 * `snapshotRevision` is lost by intent. At `stoppedMs` no API server ran any more, and etcd had `lastRevision`. `keys` are the state at
 * `revision`, after which the history goes on.
 */
export const RESTORE_LINE = z
  .object({
    atMs: ms,
    stoppedMs: ms,
    snapshotRevision: count,
    lastRevision: count,
    revision: count,
    keys: z.array(KEY_VALUE),
  })
  .refine(({ snapshotRevision, lastRevision }) => snapshotRevision <= lastRevision, {
    path: ['lastRevision'],
    message: 'is before the snapshot',
  })
  .refine(({ lastRevision, revision }) => lastRevision < revision, {
    path: ['revision'],
    message: 'is one of the history before the restore',
  });

/**
 * `findings.jsonl` (optional): what the campaign itself found wrong, such as a cluster that did not become healthy, or an end that a workload
 * does not accept.
 */
export const FINDING_LINE = z.object({ atMs: ms, what: text });

export type RestoreLine = z.infer<typeof RESTORE_LINE>;
export type Run = z.infer<typeof RUN>;
export type PlannedFault = z.infer<typeof PLANNED_FAULT>;
export type KeyValue = z.infer<typeof KEY_VALUE>;
export type EtcdEvent = z.infer<typeof ETCD_EVENT>;
export type EtcdLine = z.infer<typeof ETCD_LINE>;
export type Container = z.infer<typeof CONTAINER>;
export type EngineLine = z.infer<typeof ENGINE_LINE>;
export type FaultLine = z.infer<typeof FAULT_LINE>;
export type ClientOperation = z.infer<typeof CLIENT_OPERATION>;
export type ClientWatch = z.infer<typeof CLIENT_WATCH>;
export type Observation = z.infer<typeof OBSERVATION>;
export type ClientLine = z.infer<typeof CLIENT_LINE>;
export type MetricLine = z.infer<typeof METRIC_LINE>;
export type InitialKeys = z.infer<typeof INITIAL_KEYS>;
