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
  apiVersionOf,
  controllerOf,
  controllerReference,
  formatKey,
  isReason,
  keyOf,
  type KubeObject,
  parseApiVersion,
  type Resource,
  type StatusError,
} from '@gantry/objects';
import type { Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import type { Controller, ReconcileContext } from './controller.ts';
import { includes } from './includes.ts';
import { watchOwnedBy } from './watch-owned-by.ts';

/** Reads of the cache. The objects are shared: never change them. */
export type CacheReader = Pick<Cache, 'get' | 'list' | 'labelled' | 'indexed'>;

/** What a declared controller decides from: the object, what it owns, and the time. */
export interface Observed<T extends KubeObject> {
  readonly object: T;
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
export interface Desired<T extends KubeObject> {
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
  /** The time at which to decide again although nothing changed, in milliseconds since 1970. */
  readonly requeueAt?: Instant;
  readonly events?: readonly DesiredEvent[];
}

type StatusOf<T> = T extends { status?: infer S } ? NonNullable<S> : never;

/** A controller that says what should be. */
export interface DeclaredController<T extends KubeObject>
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
  /** Pure: it reads nothing but its argument and changes nothing. Not called for an object that is being deleted. */
  readonly desire: (observed: Observed<T>) => Desired<T>;
}

/** Thrown when a controller wants what it may not; the message names the object. */
export class DesiredError extends Error {
  override readonly name = 'DesiredError';
}

/** What is known of one object. */
interface Known {
  readonly uid: string;
  /** The hash of what was applied last, by place, so that an equal wish sends no request while the object still has all of it. */
  readonly hashes: Map<string, string>;
  /** Changes that the API server does not allow, by place: not sent again as long as the object and the wish are the same. Mostly none. */
  refused?: Map<string, { readonly hash: string; readonly resourceVersion: string; readonly error: DesiredError }>;
}
type Memory = Map<string, Known>;

const STATUS = 'status';

/**
 * Makes a controller of a pure function: observed state in, desired objects and status out. Desired objects are written by server-side apply, so
 * fields of others stay, and fields that are no longer desired are removed. Objects that are no longer desired are deleted, after all others
 * have been written. When the object itself is deleted, Kubernetes deletes what it owns. A unit test calls `desire` of the result.
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
export function declare<T extends KubeObject>(
  declared: DeclaredController<T>,
): Controller & Pick<DeclaredController<T>, 'desire'> {
  const { name, owns, watches = [], desire, workers, share, rateLimit } = declared;
  const memory: Memory = new Map();
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
    ],
    begin: () => memory.clear(),
    reconcile: (key, context, signal) => reconcile(declared, memory, key, context, signal),
  };
}

async function reconcile<T extends KubeObject>(
  declared: DeclaredController<T>,
  memory: Memory,
  key: ReconcileKey,
  context: ReconcileContext,
  signal: AbortSignal,
): Promise<Result> {
  const { cache, clock, events } = context;
  const object = cache.get(declared.for, key);
  const id = formatReconcileKey(key);
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) {
    memory.delete(id);
    return {};
  }
  const owned = <O extends KubeObject>(resource: Resource<O>): readonly O[] => ownedOf(object, resource, cache);
  const desired = declared.desire({ object, owned, cache, now: clock.now() });
  const wanted = desired.objects.map((one) => placed(declared, object, one));
  const { uid = '' } = object.metadata;
  const known = knownOf(memory, id, uid);
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
  memory.set(id, { uid, hashes });
  for (const { type, reason, message } of desired.events ?? []) events.event(object, type, reason, message);
  return desired.requeueAt === undefined ? {} : { requeueAfterMs: Math.max(0, desired.requeueAt - clock.now()) };
}

/** Takes a tenth of the memory of the text. */
function hashOf(value: unknown): string {
  return hashText('sha256', JSON.stringify(value), 'base64');
}

function knownOf(memory: Memory, id: string, uid: string): Known {
  const before = memory.get(id);
  if (before?.uid === uid) return before;
  const known: Known = { uid, hashes: new Map() };
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
  { recreates = [] }: DeclaredController<T>,
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

interface Wanted {
  readonly resource: Resource;
  readonly configuration: KubeObject;
}

function placeOf({ resource, configuration }: Wanted): string {
  return `${resource.group}/${resource.resource}/${formatKey(keyOf(configuration))}`;
}

/** An object that is not to be written. Throws DesiredError for one that the owner does not control. */
function keptOf<T extends KubeObject>(
  { owns }: DeclaredController<T>,
  owned: (resource: Resource) => readonly KubeObject[],
  kept: KubeObject,
): Wanted {
  const resource = owns.find((one) => owned(one).some(({ metadata }) => metadata.uid === kept.metadata.uid));
  if (resource === undefined) {
    throw new DesiredError(`${kept.kind} ${kept.metadata.name}: is to be kept, but is not one of \`owned\``);
  }
  return { resource, configuration: kept };
}

/** The object as it is applied: in its namespace, with its owner. Throws DesiredError. */
function placed<T extends KubeObject>(declared: DeclaredController<T>, owner: T, wanted: KubeObject): Wanted {
  const { group } = parseApiVersion(wanted.apiVersion);
  const title = `${wanted.kind} ${wanted.metadata.name ?? ''}`;
  const resource = declared.owns.find((one) => one.kind === wanted.kind && one.group === group);
  if (resource === undefined)
    throw new DesiredError(`${title}: ${wanted.apiVersion} ${wanted.kind} is not in \`owns\``);
  if (wanted.apiVersion !== apiVersionOf(resource)) {
    throw new DesiredError(`${title}: has version ${wanted.apiVersion}, but \`owns\` has ${apiVersionOf(resource)}`);
  }
  if ((wanted.metadata.name ?? '') === '') throw new DesiredError(`${wanted.kind}: metadata.name is required`);
  const { namespace: home } = owner.metadata;
  if (!resource.namespaced && home !== undefined) {
    throw new DesiredError(`${title}: an object of cluster scope cannot be owned by one of a namespace`);
  }
  const namespace = resource.namespaced ? (wanted.metadata.namespace ?? home) : undefined;
  if (resource.namespaced && namespace === undefined)
    throw new DesiredError(`${title}: metadata.namespace is required`);
  if (home !== undefined && namespace !== home) {
    throw new DesiredError(`${title}: is in namespace ${namespace}, but its owner is in ${home}`);
  }
  const ownerReferences = [...(wanted.metadata.ownerReferences ?? []), controllerReference(owner)];
  const metadata = { ...wanted.metadata, ...(namespace === undefined ? {} : { namespace }), ownerReferences };
  return { resource, configuration: { ...wanted, metadata } };
}

/** Throws when another object controls the live one: server-side apply would take over its fields. */
function refuseForeign(live: KubeObject | undefined, owner: KubeObject, place: string): void {
  const other = controllerOf(live);
  if (other === undefined || other.uid === owner.metadata.uid) return;
  throw new DesiredError(`${place} is controlled by ${other.kind} ${other.name}`);
}

async function prune<T extends KubeObject>(
  { owns }: DeclaredController<T>,
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
