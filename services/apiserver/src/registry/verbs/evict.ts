import { findResource } from '@gantry/kinds';
import { must } from '@gantry/base';
import {
  type Eviction,
  isReason,
  type KubeObject,
  type Pod,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  StatusError,
} from '@gantry/objects';
import type { ResourceDefinition } from '@gantry/apimachinery';
import { type Entry, objectKey } from '../../cache/index.ts';
import { MAX_TRIES, retry } from '../writing/attempts.ts';
import { decodeKind, normalised } from '../objects/decode-body.ts';
import { PostedObject } from '../drafts/posted-object.ts';
import { fenceOf } from '../writing/fences.ts';
import { carryOut } from '../writing/pipeline.ts';
import { checkDeletePreconditions } from '../objects/preconditions.ts';
import { type Body, type DeleteOptions, EVERYTHING, type WriteRequest } from '../contract/registry.ts';
import {
  budgetsOf,
  EVICTION_SCHEMA,
  evictionDeleteOptions,
  isUncounted,
  needsNoBudget,
  stillProcessed,
  takeDisruption,
  withDisruptionTarget,
} from '../subresources/eviction.ts';
import { groupResource } from '../contract/target.ts';
import type { WriteParts, WriteVerb } from '../writing/write.ts';
import { remove } from './remove.ts';
import { success } from './bind.ts';

/** POST of an Eviction: deletes a pod if the disruption budgets allow it. The right to delete the pod is not needed. */
export const evict: WriteVerb<Body, Eviction & KubeObject> = {
  right: 'create',
  startsFrom: 'not-stored',
  decode: async (request, body) => ({
    sent: await decodeKind(request, body, EVICTION_SCHEMA),
  }),
  draft: async (parts, attempt) => {
    const { sent, options, context } = attempt;
    const { definition, name } = attempt.target;
    // The marks and the deletion are fenced. A former leader gets no other response, and calls no webhook.
    await parts.committer.checkFence({
      context,
      definition,
      name,
      fence: fenceOf(context, definition, name, 'delete'),
    });
    return new PostedObject(parts, attempt, {
      object: sent,
      kind: { group: 'policy', version: 'v1', kind: 'Eviction' },
      respond: async () => {
        const { metadata }: Eviction = sent;
        if ((metadata?.name ?? '') !== attempt.target.name) {
          throw StatusError.badRequest('name in URL does not match name in Eviction object');
        }
        const deletion = evictionDeleteOptions(sent, options.dryRun);
        const write = { ...options, dryRun: deletion.dryRun };
        await evictPod(parts, { ...attempt, options: write, deletion: deletion.options });
        return success();
      },
    });
  },
};

/** An authorised and admitted eviction, before the check of the budgets. */
interface PodEviction extends WriteRequest {
  readonly deletion: DeleteOptions;
}

async function evictPod(parts: WriteParts, eviction: PodEviction): Promise<void> {
  let conflict: unknown;
  const evicted = await retry(MAX_TRIES, async () => {
    const { object } = await read(parts, eviction, eviction.target);
    const pod = object as Pod;
    if (!needsNoBudget(pod)) {
      await evictWithBudget(parts, eviction, pod);
      return true;
    }
    // A pending pod may start at any time, so it is deleted only in the observed state.
    const isOpen = pod.metadata.deletionTimestamp === undefined && pod.status?.phase === 'Pending';
    try {
      await markAndDelete(parts, eviction, isOpen ? pod : undefined);
      return true;
    } catch (error) {
      if (!isReason(error, 'Conflict') || isPinned(eviction)) throw error;
      conflict = error;
      return undefined;
    }
  });
  if (evicted === undefined) throw conflict;
}

async function evictWithBudget(parts: WriteParts, eviction: PodEviction, pod: Pod): Promise<void> {
  const { context, target } = eviction;
  const definition = must(findResource(POD_DISRUPTION_BUDGETS), 'the definition of budgets');
  const { items } = await parts.reader.select(context, definition, { ...EVERYTHING, namespace: target.namespace });
  const budgets = budgetsOf(
    pod,
    items.map(({ object }) => object as PodDisruptionBudget),
  );
  const [budget] = budgets;
  if (budget === undefined) return markAndDelete(parts, eviction, undefined);
  if (budgets.length > 1) {
    const why = 'This pod has more than one PodDisruptionBudget, which the eviction subresource does not support.';
    throw new StatusError('', why);
  }
  const name = budget.metadata.name ?? '';
  if (!isUncounted(pod, budget)) {
    await storeDisruption(parts, eviction, { definition, name });
    return markAndDelete(parts, eviction, undefined);
  }
  try {
    return await markAndDelete(parts, eviction, pod);
  } catch (error) {
    if (isReason(error, 'Conflict') && !isPinned(eviction)) throw stillProcessed(name);
    throw error;
  }
}

/** Whether the client requires a resourceVersion of the pod. */
function isPinned({ deletion }: PodEviction): boolean {
  return deletion.preconditions.resourceVersion !== undefined;
}

/** Takes one disruption from the budget with a guarded write. */
async function storeDisruption(
  parts: WriteParts,
  eviction: PodEviction,
  budget: { readonly definition: ResourceDefinition; readonly name: string },
): Promise<void> {
  const { target, options } = eviction;
  const stored = await retry(MAX_TRIES, async () => {
    const found = await read(parts, eviction, { ...budget, namespace: target.namespace });
    const taken = takeDisruption(found.object, target.name, parts.deps.clock.now());
    return options.dryRun
      ? 'dry run'
      : store(parts, eviction, { ...found, definition: budget.definition, changed: taken });
  });
  if (stored !== undefined) return;
  throw StatusError.timeout(`couldn't update PodDisruptionBudget ${JSON.stringify(budget.name)} due to conflicts`);
}

/** Marks the pod as disrupted and deletes it. With `seen`, deletes it only in that state. */
async function markAndDelete(parts: WriteParts, eviction: PodEviction, seen: Pod | undefined): Promise<void> {
  const { context, target, options, deletion } = eviction;
  const { definition, namespace, name } = target;
  const pinned = deletion.preconditions.resourceVersion ?? seen?.metadata.resourceVersion;
  const preconditions = {
    ...deletion.preconditions,
    ...(pinned === undefined ? {} : { resourceVersion: pinned }),
  };
  let sent: DeleteOptions = { ...deletion, preconditions };
  if (!options.dryRun) {
    const version = await mark(parts, eviction, sent);
    // This process has written the mark, so the required version becomes that of the mark.
    if (pinned !== undefined) sent = { ...deletion, preconditions: { ...preconditions, resourceVersion: version } };
  }
  const entry = await parts.reader.fromStore(objectKey(definition, namespace, name), context.signal);
  const request = { context, target: { ...target, subresource: '' }, subresource: undefined, options };
  const fence = fenceOf(context, definition, name, 'delete');
  await carryOut(parts, remove, { ...request, sent, fence, rights: 'granted' }, { origin: 'store', entry });
}

async function mark(parts: WriteParts, eviction: PodEviction, { preconditions }: DeleteOptions): Promise<string> {
  const { target } = eviction;
  const { definition, name } = target;
  const version = await retry(MAX_TRIES, async () => {
    const found = await read(parts, eviction, target);
    checkDeletePreconditions(found.object, definition, preconditions);
    const changed = withDisruptionTarget(found.object, parts.deps.clock.now());
    return store(parts, eviction, { ...found, definition, changed });
  });
  if (version === undefined) throw StatusError.conflict(groupResource(definition), name);
  return version;
}

async function read(
  { reader }: WriteParts,
  { context }: WriteRequest,
  { definition, namespace, name }: { definition: ResourceDefinition; namespace: string; name: string },
): Promise<{ readonly entry: Entry; readonly object: KubeObject }> {
  const entry = await reader.fromStore(objectKey(definition, namespace, name), context.signal);
  if (entry === undefined) throw StatusError.notFound(groupResource(definition), name);
  return { entry, object: entry.response.object };
}

/** Stores an object. Returns its new version; undefined when the object has changed since it was read. */
async function store(
  { committer }: WriteParts,
  { context }: WriteRequest,
  { definition, entry, changed }: { definition: ResourceDefinition; entry: Entry; changed: KubeObject },
): Promise<string | undefined> {
  const { namespace = '', name = '' } = changed.metadata;
  const outcome = await committer.commit(
    {
      context,
      definition,
      namespace,
      name,
      expected: entry.resourceVersion,
      object: normalised(definition, changed),
      fence: fenceOf(context, definition, name, 'update'),
    },
    changed,
  );
  return outcome.kind === 'committed' ? outcome.response.object.metadata.resourceVersion : undefined;
}
