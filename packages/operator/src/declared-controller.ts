import { hash as hashText } from 'node:crypto';
import {
  type Cache,
  formatReconcileKey,
  type ReconcileKey,
  type Result,
  type WatchSpec,
  watchSelf,
} from '@gantry/controller-runtime';
import {
  controllerOf,
  formatKey,
  isReason,
  keyOf,
  type KubeObject,
  type Resource,
  type StatusError,
} from '@gantry/objects';
import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import type { Controller, ReconcileContext } from './controller.ts';
import { includes } from './includes.ts';
import { type Outside, type OutsideMemory, reconcileOutside } from './outside.ts';
import { DesiredError, keptOf, placed, placeOf, refuseForeign, type Wanted } from './wanted.ts';
import { watchOwnedBy } from './watch-owned-by.ts';

/** Reads of the cache. The objects are shared: never change them. */
export type CacheReader = Pick<Cache, 'get' | 'list' | 'labelled' | 'indexed'>;

/** What a declared controller decides from: the object, what it owns, and the time. */
export interface Observed<T extends KubeObject, State = undefined> {
  readonly object: T;
  /** What `outside.read` returned; undefined when the controller has no `outside`. */
  readonly outside: State;
  /** The objects of a resource in `owns` that the object controls. */
  readonly owned: <O extends KubeObject>(resource: Resource<O>) => readonly O[];
  /** Other objects. Those of resources that `owns` and `watches` do not name are not cached. */
  readonly cache: CacheReader;
  readonly now: Instant;
}

/** An Event about the object, written when everything else has been written. Repetitions are counted in one Event. */
export interface DesiredEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** What a declared controller wants. */
export interface Desired<T extends KubeObject, State = undefined> {
  /**
   * The objects that the object owns, of the resources in `owns`, with only the fields that this controller decides. Others of these
   * resources that the object controls are deleted. The namespace is that of the object when absent; the owner reference is added.
   */
  readonly objects: readonly KubeObject[];
  /**
   * Objects that `owned` returned and that stay as they are, neither written nor deleted: for what cannot be changed, such as Jobs, and for what
   * is made once, such as a password.
   */
  readonly keep?: readonly KubeObject[];
  /** The fields of the status that this controller decides. The status is not written when absent. */
  readonly status?: StatusOf<T>;
  /** What should be outside; nothing is written there when absent. */
  readonly outside?: State;
  /** The time at which to decide again although nothing changed, in milliseconds since 1970. */
  readonly requeueAt?: Instant;
  readonly events?: readonly DesiredEvent[];
}

type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> : never;

/** A controller that says what should be. */
export interface DeclaredController<T extends KubeObject, State = undefined>
  extends Pick<Controller, 'name' | 'workers' | 'share' | 'rateLimit'> {
  readonly for: Resource<T>;
  /** The resources of the objects that it creates, which are watched. */
  readonly owns: readonly Resource[];
  /**
   * Resources of `owns` whose objects are deleted and made again when they cannot be changed as desired, such as Jobs. Such a change of others is
   * refused: nothing is written to the object until it or what is desired changes.
   */
  readonly recreates?: readonly Resource[];
  /** Changes of other objects that queue keys of `for`. */
  readonly watches?: readonly WatchSpec[];
  /** What the objects stand for outside of the cluster. */
  readonly outside?: Outside<T, State>;
  /** Pure: it reads nothing but its argument and changes nothing. Not called for an object that is being deleted. */
  readonly desire: (observed: Observed<T, State>) => Desired<T, NoInfer<State>>;
}

/** What is known of one object. */
interface Known<State = unknown> {
  readonly uid: string;
  readonly outside: OutsideMemory<State>;
  /** The hash of what was applied last, by place, so that an equal wish sends no request while the object still has all of it. */
  readonly hashes: Map<string, string>;
  /** Changes that the API server does not allow, by place: not sent again as long as the object and the wish are the same. Mostly none. */
  refused?: Map<string, { readonly hash: string; readonly resourceVersion: string; readonly error: DesiredError }>;
}
type Memory<State> = Map<string, Known<State>>;

const STATUS = 'status';

/**
 * Makes a controller of a pure function: observed state in, desired objects and status out. Desired objects are written by server-side apply, so
 * fields of others stay, and fields that are no longer desired are removed. Objects that are no longer desired are deleted, after all others
 * have been written. When the object itself is deleted, Kubernetes deletes what it owns. What it stands for outside of the cluster (`outside`) is read
 * before the decision and written after everything else. A unit test calls `desire` of the result.
 *
 * @example
 * ```ts
 * const controller = declare({
 *   name: 'greetings',
 *   for: GREETINGS,
 *   owns: [CONFIG_MAPS],
 *   desire: ({ object }) => ({
 *     objects: [
 *       { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: object.metadata.name }, data: { text: `Hello ${object.spec.name}` } },
 *     ],
 *     status: { greeted: object.spec.name },
 *   }),
 * });
 * await runOperator({ name: 'greeter', controllers: [controller] });
 * ```
 */
export function declare<T extends KubeObject, State = undefined>(
  declared: DeclaredController<T, State>,
): Controller & Pick<DeclaredController<T, State>, 'desire'> {
  const { name, owns, watches = [], desire, outside, workers, share, rateLimit } = declared;
  const memory: Memory<State> = new Map();
  return {
    name,
    desire,
    watches: [watchSelf(declared.for), ...owns.map((resource) => watchOwnedBy(declared.for, resource)), ...watches],
    ...(workers === undefined ? {} : { workers }),
    ...(share === undefined ? {} : { share }),
    ...(rateLimit === undefined ? {} : { rateLimit }),
    rights: [
      ...owns.map((resource) => ({ resource, verbs: ['create', 'patch', 'delete'] }) as const),
      { resource: declared.for, subresource: STATUS, verbs: ['patch'] },
      // The finalizer.
      ...(outside === undefined ? [] : [{ resource: declared.for, verbs: ['patch'] } as const]),
    ],
    begin: () => memory.clear(),
    reconcile: (key, context, signal) => reconcile(declared, memory, key, context, signal),
  };
}

async function reconcile<T extends KubeObject, State>(
  declared: DeclaredController<T, State>,
  memory: Memory<State>,
  key: ReconcileKey,
  context: ReconcileContext,
  signal: AbortSignal,
): Promise<Result> {
  const { for: resource, outside } = declared;
  const object = context.cache.get(resource, key);
  const id = formatReconcileKey(key);
  const isDeleted = object === undefined || object.metadata.deletionTimestamp !== undefined;
  if (isDeleted) memory.delete(id);
  if (object === undefined || (isDeleted && outside === undefined)) return {};
  if (outside === undefined)
    return (await decide(declared, memory, { id, object, state: undefined as State }, context, signal)).result;
  const known = isDeleted ? {} : knownOf(memory, id, object.metadata.uid).outside;
  return await reconcileOutside(
    {
      outside,
      resource,
      object,
      memory: known,
      context,
      decide: async (state) => await decide(declared, memory, { id, object, state }, context, signal),
    },
    signal,
  );
}

/** An object, its place in the memory, and what was read outside. */
interface Subject<T extends KubeObject, State> {
  readonly id: string;
  readonly object: T;
  readonly state: State;
}

/** Calls `desire` and makes the cluster what it wants. */
async function decide<T extends KubeObject, State>(
  declared: DeclaredController<T, State>,
  memory: Memory<State>,
  { id, object, state }: Subject<T, State>,
  context: ReconcileContext,
  signal: AbortSignal,
): Promise<{ readonly desired: State | undefined; readonly result: Result }> {
  const { cache, clock, events } = context;
  const owned = <O extends KubeObject>(resource: Resource<O>): readonly O[] => ownedOf(object, resource, cache);
  const desired = declared.desire({ object, owned, cache, outside: state, now: clock.now() });
  const wanted = desired.objects.map((one) => placed(declared, object, one));
  const known = knownOf(memory, id, object.metadata.uid);
  const hashes = new Map<string, string>();
  const kept = (desired.keep ?? []).map((one) => keptOf(declared, owned, one));
  const keptPlaces = new Set(kept.map(placeOf));
  for (const { resource, configuration } of wanted) {
    const place = placeOf({ resource, configuration });
    if (keptPlaces.has(place)) throw new DesiredError(`${place} is desired, and is to be kept as it is`);
    if (hashes.has(place)) throw new DesiredError(`${place} is desired twice`);
    const live = cache.get(resource, keyOf(configuration));
    refuseForeign(live, object, place);
    const hash = hashOf(configuration);
    if (live === undefined || known.hashes.get(place) !== hash || !includes(live, configuration)) {
      await change(declared, { resource, configuration, live, hash, place, object, known }, context, signal);
    }
    hashes.set(place, hash);
  }
  await prune(declared, [...wanted, ...kept], owned, context, signal);
  if (desired.status !== undefined) {
    const hash = hashOf(desired.status);
    const current = (object as { readonly status?: unknown }).status;
    if (known.hashes.get(STATUS) !== hash || !includes(current, desired.status))
      await applyStatus(object, desired.status, context, declared.for, signal);
    hashes.set(STATUS, hash);
  }
  memory.set(id, { uid: known.uid, outside: known.outside, hashes });
  for (const { type, reason, message } of desired.events ?? []) events.event(object, type, reason, message);
  const { requeueAt, outside } = desired;
  const result = requeueAt === undefined ? {} : { requeueAfterMs: Math.max(0, requeueAt - clock.now()) };
  return { desired: outside, result };
}

/** Takes a tenth of the memory of the text. */
function hashOf(value: unknown): string {
  return hashText('sha256', JSON.stringify(value), 'base64');
}

function knownOf<State>(memory: Memory<State>, id: string, uid = ''): Known<State> {
  const before = memory.get(id);
  if (before?.uid === uid) return before;
  const known: Known<State> = { uid, outside: {}, hashes: new Map() };
  memory.set(id, known);
  return known;
}

interface Change extends Wanted {
  readonly live: KubeObject | undefined;
  /** Of the configuration. */
  readonly hash: string;
  readonly place: string;
  /** The owner. */
  readonly object: KubeObject;
  readonly known: Known;
}

/** Applies a configuration. Throws DesiredError when its object exists and cannot be changed so. */
async function change<T extends KubeObject>(
  { recreates = [] }: Pick<DeclaredController<T>, 'recreates'>,
  { resource, configuration, live, hash, place, object, known }: Change,
  { client, events, log }: ReconcileContext,
  signal: AbortSignal,
): Promise<void> {
  const { uid, resourceVersion = '', name } = live?.metadata ?? {};
  const refused = known.refused?.get(place);
  if (refused?.hash === hash && refused.resourceVersion === resourceVersion) throw refused.error;
  try {
    await client.apply(resource, configuration, {}, signal);
  } catch (error) {
    if (live === undefined || !isRefusedChange(error)) throw error;
    if (recreates.includes(resource)) {
      log.info(
        { resource: resource.resource, name, reason: error.message },
        'cannot be changed, deleted to be made again',
      );
      // The deletion queues the owner again.
      await ignoreNotFound(client.delete(resource, keyOf(live), { uid, propagationPolicy: 'Background' }, signal));
      return;
    }
    const choices =
      'return it in `keep` to leave it as it is, give the new one another name, or add its resource to `recreates`';
    const message = `${place} exists and cannot be changed as desired (${reasonsOf(error)}): ${choices}`;
    const thrown = new DesiredError(message, { cause: error });
    known.refused ??= new Map();
    known.refused.set(place, { hash, resourceVersion, error: thrown });
    events.event(object, 'Warning', 'ChangeRefused', message);
    throw thrown;
  }
}

/** How API servers say that a field of an object that exists cannot have another value. */
const FIXED = /immutable|updates? .* (is|are) forbidden|may not change/;

function isRefusedChange(error: unknown): error is StatusError {
  return isReason(error, 'Invalid') && FIXED.test(error.message);
}

/** The fields and why, without their values, which may be whole templates. */
function reasonsOf({ details, message }: StatusError): string {
  const reasons = (details?.causes ?? []).map(({ field = '', message: of = '' }) => {
    const [line = ''] = of.slice(of.lastIndexOf(': ') + 1).split('\n');
    return `${field}: ${line.trim()}`;
  });
  return (reasons.length === 0 ? message : reasons.join(', ')).slice(0, MAX_REASONS);
}
const MAX_REASONS = 400;

async function applyStatus<T extends KubeObject>(
  { apiVersion, kind, metadata }: T,
  status: unknown,
  { client }: ReconcileContext,
  resource: Resource<T>,
  signal: AbortSignal,
): Promise<void> {
  const { name, namespace, uid } = metadata;
  // The uid makes the write fail when the object was deleted and created again meanwhile.
  const identity = { name, uid, ...(namespace === undefined ? {} : { namespace }) };
  await client.apply(resource, { apiVersion, kind, metadata: identity, status }, { subresource: STATUS }, signal);
}

async function prune<T extends KubeObject>(
  { owns }: Pick<DeclaredController<T>, 'owns'>,
  wanted: readonly Wanted[],
  owned: (resource: Resource) => readonly KubeObject[],
  { client, log }: ReconcileContext,
  signal: AbortSignal,
): Promise<void> {
  for (const resource of owns) {
    const kept = new Set(
      wanted.filter((one) => one.resource === resource).map(({ configuration }) => formatKey(keyOf(configuration))),
    );
    for (const extra of owned(resource)) {
      const { uid, deletionTimestamp } = extra.metadata;
      if (kept.has(formatKey(keyOf(extra))) || deletionTimestamp !== undefined) continue;
      log.info({ resource: resource.resource, name: extra.metadata.name }, 'no longer desired, deleted');
      const propagationPolicy = 'Background' as const;
      await ignoreNotFound(client.delete(resource, keyOf(extra), { uid, propagationPolicy }, signal));
    }
  }
}

function ownedOf<O extends KubeObject>(owner: KubeObject, resource: Resource<O>, cache: Cache): readonly O[] {
  const { uid = '', namespace } = owner.metadata;
  if (namespace !== undefined) return cache.controlledBy(resource, namespace, uid);
  return cache.list(resource).filter((object) => controllerOf(object)?.uid === uid);
}
