import { setImmediate as nextRound } from 'node:timers/promises';
import type { Turn } from '@gantry/base';
import { isReason, type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import type { Charge } from '../../admission/index.ts';
import { objectReadBy } from '../../auth/authz/fixed-rights.ts';
import { type Entry, objectKey, revisionOf } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Unchanged } from '../../storage/object-store.ts';
import type { Lookups } from './admission-chain.ts';
import { attemptUntilDecided, type Effect, type Outcome, type State } from './attempts.ts';
import { authoriseFence, fenceOf } from './fences.ts';
import { recountConditions, forgetRecounts } from './quota-charges.ts';
import { groupResource } from '../contract/target.ts';
import type { WriterFence, WriteRequest } from '../contract/registry.ts';
import type { Draft, StoredState, Write, WriteParts, WriteVerb } from './write.ts';

/** Limits for waiting until the cache has reached the version that the client has read: milliseconds, and revisions. */
const CATCH_UP_MS = 100;
const MAX_AHEAD = 10_000;
/** After a step of a write that takes longer, other work gets a turn. */
const STEP_MS = 10;

/** The result of a write. */
export interface Written {
  readonly response: ObjectResponse;
  readonly effect: Effect | 'none';
}

/** Runs a write: authorises it, reads and decodes the body, and attempts it until its outcome is final. */
export async function write<Body, Sent>(
  parts: WriteParts,
  verb: WriteVerb<Body, Sent>,
  request: WriteRequest,
  body: Body,
): Promise<Written> {
  const fence = authorise(parts, verb, request);
  const decoded = await verb.decode(request, body);
  return carryOut(parts, verb, { ...request, rights: 'depend-on-object', fence, ...decoded });
}

/** Runs a write whose body is decoded. Starts from `from`; without it, from the cached or stored state. */
export async function carryOut<Sent>(
  parts: WriteParts,
  verb: Pick<WriteVerb<never, Sent>, 'right' | 'startsFrom' | 'draft' | 'respond'>,
  decoded: Write<Sent>,
  from?: State,
): Promise<Written> {
  const { context, fence } = decoded;
  const { definition, namespace, name } = decoded.target;
  if (fence !== undefined) await parts.committer.checkFence({ context, definition, name, fence });
  const readStored = (): Promise<Entry | undefined> =>
    parts.reader.fromStore(objectKey(definition, namespace, name), context.signal);
  const first = from ?? (await firstState(parts, verb, decoded)) ?? { origin: 'store', entry: await readStored() };
  const charged = new Map<string, Charge>();
  const outcome = await attemptUntilDecided(first, {
    definition,
    name,
    attempt: async (entry) => {
      const ended = await attempt(parts, verb, decoded, { entry, charged });
      if (ended.kind === 'claims-lost') forgetCharges(charged, ended.key);
      return ended;
    },
    readStored,
  });
  if (outcome.kind === 'absent') throw StatusError.notFound(groupResource(definition), name);
  const response = verb.respond?.(outcome.response, decoded) ?? outcome.response;
  return { response, effect: outcome.kind === 'unchanged' ? 'none' : outcome.effect };
}

/**
 * Defines the order of the steps of every write, from the decoded body to the commit. Two internal writes use the committer directly.
 * They are the marks of an eviction (condition of the pod, count of the budget; `../verbs/evict.ts`), and the status of a quota that
 * admission charges (`quota-charges.ts`). Both belong to a request that is already authorised and admitted.
 */
async function attempt<Sent>(
  parts: WriteParts,
  verb: Pick<WriteVerb<never, Sent>, 'right' | 'draft'>,
  decoded: Write<Sent>,
  { entry, charged }: { readonly entry: Entry | undefined; readonly charged: Map<string, Charge> },
): Promise<Outcome> {
  const { admission, deps } = parts;
  const { context, target } = decoded;
  const pace = new Pace(deps.turns);
  const stored = await storedState(parts, decoded, entry);
  authoriseStored(parts, verb, decoded, stored);
  const draft = await verb.draft(parts, { ...decoded, stored, now: deps.clock.now() });
  if (draft === undefined) return { kind: 'absent' };
  if (stored === undefined) authoriseNew(parts, verb, decoded, draft.object);
  context.audit.describe(draft.object.metadata);
  await pace.step();
  await draft.record();
  await pace.step();
  const lookups = admission.lookups(context.signal);
  const admitted = draft.admissionRequest();
  await admission.mutate(admitted, lookups);
  await pace.step();
  const judged = { ...draft.restore(admitted), charged };
  deps.escalationCheck.check({
    user: context.user,
    definition: target.definition,
    namespace: target.namespace,
    subresource: target.subresource,
    object: draft.object,
    old: stored?.object,
  });
  draft.prepare();
  await draft.validate();
  await pace.step();
  await admission.validate(judged, lookups);
  await pace.step();
  const recounting = recountConditions(deps, decoded, stored, draft.object);
  const recount = recounting instanceof Promise ? await recounting : recounting;
  return claimAndCommit(parts, decoded, { draft, lookups, conditions: [...judged.conditions, ...recount] });
}

/** Lets other work run after a step that has taken long, as it does for a very large object. */
class Pace {
  readonly #clock: Pick<Turn, 'now'>;
  #startedAt: number;

  constructor(clock: Pick<Turn, 'now'>) {
    this.#clock = clock;
    this.#startedAt = clock.now();
  }

  /** Ends a step. */
  async step(): Promise<void> {
    if (this.#clock.now() - this.#startedAt > STEP_MS) await nextRound();
    this.#startedAt = this.#clock.now();
  }
}

/** Removes the charge that a recount has given back. Charges to other quotas stay, so that they are not made twice. */
function forgetCharges(charged: Map<string, Charge>, key: string): void {
  for (const [uid, { condition }] of charged) if (condition.key === key) charged.delete(uid);
}

/** An admitted object, ready to be stored. */
interface Admitted {
  readonly draft: Draft;
  readonly lookups: Lookups;
  readonly conditions: readonly Unchanged[];
}

/**
 * Claims the addresses and ports of the object and commits it. After a commit, releases the claims that only the old object needed.
 * After a failure, releases the new claims.
 */
async function claimAndCommit(
  { allocators, deps }: WriteParts,
  { context, target, options }: Write<unknown>,
  { draft, lookups, conditions }: Admitted,
): Promise<Outcome> {
  const claim = await draft.claim();
  try {
    const outcome = await draft.commit([...claim.claims, ...conditions], lookups);
    if (outcome.kind !== 'committed' || options.dryRun) {
      await claim.rollback();
      return outcome;
    }
    await claim.commit();
    if (outcome.effect === 'removed') {
      await allocators.release(target.definition, draft.object);
      await forgetRecounts(deps, target.definition, draft.object, context.signal);
    }
    return outcome;
  } catch (error) {
    // After an unknown outcome the claims stay. If no object holds them, the repair at the next start releases them.
    if (!isReason(error, 'Timeout')) await claim.rollback();
    throw error;
  }
}

/**
 * Authorises the request before its body is read. The rights of agents may depend on the stored object, so they are checked again when
 * the object is known.
 */
export function authorise(
  { deps }: Pick<WriteParts, 'deps'>,
  verb: Pick<WriteVerb<never, never>, 'right' | 'startsFrom'>,
  { context, target }: Pick<WriteRequest, 'context' | 'target'>,
): WriterFence | undefined {
  authoriseFence(deps, context);
  deps.authorizer.authorize(context, verb.right, target, undefined);
  return verb.startsFrom === 'not-stored' ? undefined : fenceOf(context, target.definition, target.name, verb.right);
}

/** Checks the rights that depend on the stored object. */
function authoriseStored(
  { deps }: WriteParts,
  { right }: Pick<WriteVerb<never, never>, 'right'>,
  { context, target, rights }: Write<unknown>,
  stored: StoredState | undefined,
): void {
  if (rights === 'granted' || objectReadBy(context.user, target) === 'never') return;
  if (stored === undefined && right === 'create') return;
  deps.authorizer.authorize(context, right, target, asJson(stored?.object));
}

/** Checks the right to create. An update or an apply that creates an object needs it as well. */
function authoriseNew(
  { deps }: WriteParts,
  { right }: Pick<WriteVerb<never, never>, 'right'>,
  { context, target, rights }: Write<unknown>,
  object: KubeObject,
): void {
  if (rights === 'granted') return;
  if (right === 'create' && objectReadBy(context.user, target) === 'never') return;
  deps.authorizer.authorize(context, 'create', target, asJson(object));
}

/** The state for the first attempt; undefined if it must be read from the store. */
async function firstState<Sent>(
  { deps }: WriteParts,
  { startsFrom }: Pick<WriteVerb<never, never>, 'startsFrom'>,
  { context, target, seenVersion = '' }: Write<Sent>,
): Promise<State | undefined> {
  if (startsFrom !== 'stored') return { origin: 'presumed', entry: undefined };
  const { cache } = deps;
  if (!cache.ready) return undefined;
  const ahead = revisionOf(Number(seenVersion)) - cache.revision;
  // A short wait costs less than a read from the store and a second attempt. No client can have read a version that is far ahead.
  if (ahead > 0 && ahead < MAX_AHEAD) await cache.reach(cache.revision + ahead, CATCH_UP_MS, context.signal);
  const { definition, namespace, name } = target;
  const entry = cache.resource(definition).get(objectKey(definition, namespace, name));
  return entry === undefined ? undefined : { origin: 'cache', entry };
}

async function storedState(
  { reader }: WriteParts,
  { target }: Write<unknown>,
  entry: Entry | undefined,
): Promise<StoredState | undefined> {
  if (entry === undefined) return undefined;
  const shown = await reader.shown(target.definition, entry);
  return { entry, shown, object: shown.response.object };
}

function asJson(object: KubeObject | undefined): JsonObject | undefined {
  return object as JsonObject | undefined;
}
