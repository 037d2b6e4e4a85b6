import type { ClientOperation } from '../artifacts.ts';
import { checkLinearizable, type Operation } from '../linearizability.ts';
import type { ObjectVersion, World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import { ClientOperations, type Completed } from './client-operations.ts';
import type { Invariant } from './invariant.ts';

type Recorded = Operation & { readonly sources: readonly Source[]; readonly written: string | undefined };

interface ObjectHistory {
  readonly operations: Recorded[];
  /** Values of requests without response that etcd's history does not have yet. */
  readonly pending: Set<string>;
  /** Values that etcd's history has. */
  readonly committed: Set<string>;
  /** The value of each resourceVersion that a client was told, also before a snapshot was restored. */
  readonly values: Map<string, string>;
  /** The first version that is known, as JSON: it may hold a value that no client wrote. */
  first: string | undefined;
  /** Why the object is not checked. */
  excluded: string | undefined;
}

const CONFLICTS = new Set([404, 409]);
const READS = new Set(['get', 'list']);

/**
 * I25 (Porcupine, etcd's robustness tests, Jepsen). The history of each object that clients create and change is linearizable. Values are
 * unique within the run; etcd's history tells whether a write without a response was done, and which value the object had before the
 * first of them. Objects that others delete, and those with finalizers, are left out. From the clients' records and etcd's history.
 */
export const linearizable: Invariant = {
  id: 'I25',
  title: 'The history of each object is linearizable',
  unit: 'requests of clients',
  needs: ['etcd', 'clients'],
  observe(world, findings) {
    const histories = new Map<string, ObjectHistory>();
    const clients = new Map<string, number>();
    const pairs = new ClientOperations();
    const historyOf = (key: string): ObjectHistory => {
      const known = histories.get(key);
      if (known !== undefined) return known;
      const fresh: ObjectHistory = {
        operations: [],
        pending: new Set(),
        committed: new Set(),
        values: valuesOf(world, key),
        first: textOf(world.objects.get(key)),
        excluded: undefined,
      };
      histories.set(key, fresh);
      return fresh;
    };
    const add = (completed: Completed) => {
      const history = historyOf(completed.key);
      const operation = toOperation(completed, history, clientNumber(clients, completed.client));
      if (operation === 'excluded') history.excluded = 'requests have a precondition that no client was told';
      else if (operation !== undefined) history.operations.push(operation);
    };
    const judge = () => {
      for (const one of pairs.rest()) add(one);
      for (const [key, { operations, committed, excluded, first }] of histories) {
        if (!operations.some(({ written }) => written !== undefined)) continue;
        if (excluded !== undefined) {
          findings.undecided(excluded);
          continue;
        }
        const resolved = operations.flatMap((operation) => resolve(operation, committed));
        const verdict = checkLinearizable([...before(resolved, first), ...resolved]);
        if (verdict.linearizable === undefined) {
          findings.undecided('the search for an order took too long');
          continue;
        }
        findings.checked(resolved.length);
        if (verdict.linearizable) continue;
        const stuck = verdict.stuckAt.filter((one): one is Recorded => 'sources' in one);
        const what = `${key}: no order of the requests explains ${stuck.map(describe).join(', ')}`;
        findings.violation(stuck[0]?.calledAt ?? 0, what, ...stuck.flatMap(({ sources }) => sources));
      }
    };
    return {
      client(line, source) {
        const step = pairs.step(line, source);
        if (step === undefined) return;
        if (!('begun' in step)) {
          add(step);
          return;
        }
        const { value } = line as ClientOperation;
        const history = historyOf(step.begun);
        if (value !== undefined) history.pending.add(value);
      },
      change({ key, fence, after }) {
        const history = histories.get(key);
        if (history === undefined || history.excluded !== undefined) return;
        if (fence !== undefined && after === undefined) history.excluded = 'objects were deleted by a controller';
        if ((after?.object?.metadata?.finalizers?.length ?? 0) > 0) history.excluded = 'objects have finalizers';
        history.first ??= textOf(after);
        if (after === undefined || history.pending.size === 0) return;
        const text = JSON.stringify(after.object);
        for (const value of history.pending) {
          if (!text.includes(JSON.stringify(value))) continue;
          history.pending.delete(value);
          history.committed.add(value);
        }
      },
      cut: judge,
      finish: judge,
    };
  },
};

/** By key. */
const told = new WeakMap<World, Map<string, Map<string, string>>>();

function valuesOf(world: World, key: string): Map<string, string> {
  const ofWorld = told.get(world) ?? new Map<string, Map<string, string>>();
  told.set(world, ofWorld);
  const values = ofWorld.get(key) ?? new Map<string, string>();
  ofWorld.set(key, values);
  return values;
}

function textOf(version: ObjectVersion | undefined): string | undefined {
  return version === undefined ? undefined : JSON.stringify(version.object);
}

/**
 * The creation of the value that was there before the requests, by somebody else or before a restore: the first one that was read or
 * replaced, although no client wrote it. It need not have happened yet.
 */
function before(operations: readonly Recorded[], first: string | undefined): readonly Operation[] {
  const written = new Set(operations.map((operation) => operation.written));
  const foreign = operations.flatMap(({ request, outcome }) => {
    if (outcome.kind !== 'ok') return [];
    const value = outcome.value ?? ('expected' in request ? request.expected : undefined);
    return value !== undefined && !written.has(value) ? [value] : [];
  });
  const value = foreign.find((one) => first?.includes(JSON.stringify(one)) === true);
  if (value === undefined) return [];
  return [
    {
      client: -1,
      calledAt: 0,
      returnedAt: undefined,
      request: { kind: 'create', value },
      outcome: { kind: 'unknown' },
    },
  ];
}

function clientNumber(clients: Map<string, number>, file: string): number {
  const number = clients.get(file) ?? clients.size;
  clients.set(file, number);
  return number;
}

/** A write without a response was done if etcd's history has its value, whenever that was; else it was not. */
function resolve(operation: Recorded, committed: ReadonlySet<string>): readonly Recorded[] {
  if (operation.outcome.kind !== 'unknown' || operation.written === undefined) return [operation];
  return committed.has(operation.written) ? [{ ...operation, outcome: { kind: 'ok' } }] : [];
}

/** Undefined for requests that neither read nor change the object, or that were rejected for another reason than its state. */
function toOperation(completed: Completed, history: ObjectHistory, client: number): Recorded | 'excluded' | undefined {
  const { verb, invoked, result, sources } = completed;
  const value = invoked.value;
  const request = requestOf(verb, invoked, history.values);
  if (request === undefined || request === 'excluded') return request;
  const known = result?.phase === 'ok' || (result?.phase === 'fail' && CONFLICTS.has(result.error?.code ?? 0));
  if (result?.phase === 'ok') {
    const told = READS.has(verb) ? result.value : value;
    if (told !== undefined && result.resourceVersion !== undefined) history.values.set(result.resourceVersion, told);
    if (value !== undefined) history.committed.add(value);
  }
  if (READS.has(verb) && (!known || result?.phase !== 'ok')) return undefined;
  // The object was there, and the client did not record its value.
  if (READS.has(verb) && result?.resourceVersion !== undefined && result.value === undefined) return undefined;
  // Rejected as invalid, forbidden or by a limit: nothing was done, whatever the state was.
  const code = result?.error?.code ?? 0;
  if (result?.phase === 'fail' && !known && code >= 400 && code < 500) return undefined;
  const outcome: Operation['outcome'] =
    result?.phase === 'ok'
      ? { kind: 'ok', ...(READS.has(verb) && result.value !== undefined && { value: result.value }) }
      : known
        ? { kind: 'refused' }
        : { kind: 'unknown' };
  // A write without a precondition is refused for conflicts of field managers, too.
  if (outcome.kind === 'refused' && request.kind === 'write') return undefined;
  const returnedAt = outcome.kind === 'unknown' ? undefined : result?.atMs;
  return { client, calledAt: invoked.atMs, returnedAt, request, outcome, sources, written: value };
}

function requestOf(
  verb: ClientOperation['verb'],
  { value, resourceVersion }: ClientOperation,
  values: ReadonlyMap<string, string>,
): Operation['request'] | 'excluded' | undefined {
  const expected = resourceVersion === undefined ? undefined : values.get(resourceVersion);
  const unknown = resourceVersion !== undefined && expected === undefined;
  switch (verb) {
    case 'get':
      return { kind: 'read' };
    case 'create':
      return value === undefined ? undefined : { kind: 'create', value };
    case 'delete':
      return unknown ? 'excluded' : expected === undefined ? { kind: 'delete' } : { kind: 'delete', expected };
    case 'update':
    case 'patch':
    case 'apply':
      if (value === undefined) return undefined;
      if (unknown) return 'excluded';
      return expected === undefined ? { kind: 'write', value } : { kind: 'update', expected, value };
    case 'list':
    case 'evict':
      return undefined;
  }
}

function describe({ request, outcome }: Recorded): string {
  const wrote = 'value' in request ? ` ${request.value}` : '';
  const read = outcome.kind === 'ok' && request.kind === 'read' ? ` of ${outcome.value ?? 'nothing'}` : '';
  return `${request.kind}${wrote}${read}: ${outcome.kind}`;
}
