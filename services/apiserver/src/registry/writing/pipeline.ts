import { isReason, type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import type { Charge } from '../../admission/index.ts';
import { objectReadBy } from '../../auth/authz/fixed-rights.ts';
import { type Entry, objectKey, revisionOf } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import type { Fence, Unchanged } from '../../storage/object-store.ts';
import type { Lookups } from './admission-chain.ts';
import { attemptUntilDecided, type Effect, type Outcome, type State } from './attempts.ts';
import { fenceOf } from './fences.ts';
import { recountConditions, forgetRecounts } from './quota-charges.ts';
import { groupResource } from '../contract/target.ts';
import type { WriteRequest } from '../contract/registry.ts';
import type { Draft, StoredState, Write, WriteParts, WriteVerb } from './write.ts';

/** How long, and how many revisions, a cache may be behind its client. */
const CATCH_UP_MS = 100;
const MAX_AHEAD = 10_000;

/** What a write did. */
export interface Written {
  readonly response: ObjectResponse;
  readonly effect: Effect | 'none';
}

/** Every write: authorises, then reads and decodes the body, then attempts it until its outcome stands. */
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

/** Carries out a write whose body was decoded, from the given state or from the one that is known. */
export async function carryOut<Sent>(
  parts: WriteParts,
  verb: Pick<WriteVerb<never, Sent>, 'right' | 'startsFrom' | 'draft' | 'respond'>,
  decoded: Write<Sent>,
  from?: State,
): Promise<Written> {
  const { definition, namespace, name } = decoded.target;
  const readStored = (): Promise<Entry | undefined> =>
    parts.reader.fromStore(objectKey(definition, namespace, name), decoded.context.signal);
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
 * The order of every write, from the decoded body to the commit. Two writes of the server itself go to the committer alone: the
 * marks of an eviction (its pod's condition, its budget's count; `../verbs/evict.ts`) and the status of a quota that admission charges
 * (`quota-charges.ts`). They are parts of a request that was authorised and admitted.
 */
async function attempt<Sent>(
  parts: WriteParts,
  verb: Pick<WriteVerb<never, Sent>, 'right' | 'draft'>,
  decoded: Write<Sent>,
  { entry, charged }: { readonly entry: Entry | undefined; readonly charged: Map<string, Charge> },
): Promise<Outcome> {
  const { admission, deps } = parts;
  const { context, target } = decoded;
  const stored = await storedState(parts, decoded, entry);
  authoriseStored(parts, verb, decoded, stored);
  const draft = verb.draft(parts, { ...decoded, stored, now: deps.clock.now() });
  if (draft === undefined) return { kind: 'absent' };
  if (stored === undefined) authoriseNew(parts, verb, decoded, draft.object);
  context.audit.describe(draft.object.metadata);
  draft.record();
  const lookups = admission.lookups(context.signal);
  const admitted = draft.admissionRequest();
  await admission.mutate(admitted, lookups);
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
  await admission.validate(judged, lookups);
  const recount = await recountConditions(deps, decoded, stored, draft.object);
  return claimAndCommit(parts, decoded, { draft, lookups, conditions: [...judged.conditions, ...recount] });
}

/** Forgets the charge that a recount gave back. Those to other quotas stand, and are not made again. */
function forgetCharges(charged: Map<string, Charge>, key: string): void {
  for (const [uid, { condition }] of charged) if (condition.key === key) charged.delete(uid);
}

/** What is about to be stored. */
interface Admitted {
  readonly draft: Draft;
  readonly lookups: Lookups;
  readonly conditions: readonly Unchanged[];
}

/** Claims what the object needs, commits, and gives back what is no longer needed: after a commit of before, else of now. */
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
    // Claims stay while the outcome is unknown: the repair at start gives them back when no object holds them.
    if (!isReason(error, 'Timeout')) await claim.rollback();
    throw error;
  }
}

/**
 * Refuses who may not do this, before a byte of the body is read. Rights of agents may depend on the stored object: they are asked
 * for again when it is known.
 */
export function authorise(
  { deps }: Pick<WriteParts, 'deps'>,
  verb: Pick<WriteVerb<never, never>, 'right' | 'startsFrom'>,
  { context, target }: Pick<WriteRequest, 'context' | 'target'>,
): Fence | undefined {
  deps.authorizer.authorize(context, verb.right, target, undefined);
  return verb.startsFrom === 'not-stored' ? undefined : fenceOf(context, target.definition, target.name, verb.right);
}

/** Asks for the rights that depend on the stored object. */
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

/** Asks for the right to create: an update or an apply that creates needs it as well. */
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

/** Undefined when only the store can tell. */
async function firstState<Sent>(
  { deps }: WriteParts,
  { startsFrom }: Pick<WriteVerb<never, never>, 'startsFrom'>,
  { context, target, seenVersion = '' }: Write<Sent>,
): Promise<State | undefined> {
  if (startsFrom !== 'stored') return { origin: 'presumed', entry: undefined };
  const { cache } = deps;
  if (!cache.ready) return undefined;
  const ahead = revisionOf(Number(seenVersion)) - cache.revision;
  // Waiting a moment costs less than a read of the store and a second attempt. A version that is far ahead was never given.
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
