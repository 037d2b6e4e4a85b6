import type { ResourceDefinition } from '@gantry/apimachinery';
import { isReason, StatusError } from '@gantry/objects';
import type { Entry } from '../../cache/index.ts';
import type { ObjectResponse } from '../../cache/object-response.ts';
import { groupResource } from '../contract/target.ts';

/** The maximum number of attempts of a write. A guard fails only when another write has succeeded. */
export const MAX_TRIES = 100;
/** The maximum number of names that are generated for a new object until one is free. */
const GENERATE_TRIES = 8;

/** The outcome of one attempt of a write. */
export type Outcome =
  /** The object was stored or removed. In a dry run: it could have been. */
  | { readonly kind: 'committed'; readonly response: ObjectResponse; readonly effect: Effect }
  /** The object has not changed, so nothing was stored. */
  | { readonly kind: 'unchanged'; readonly response: ObjectResponse }
  /** The object does not exist, and the verb does not create it. */
  | { readonly kind: 'absent' }
  /** Another write has taken over a claim of this one, such as an address. Nothing was stored. */
  | { readonly kind: 'claims-lost'; readonly key: string }
  /** The stored object has changed since the attempt started. */
  | { readonly kind: 'conflict'; readonly current: Entry | undefined }
  /** The name of a new object is in use. */
  | {
      readonly kind: 'taken';
      readonly name: string;
      readonly isGenerated: boolean;
      readonly current: Entry | undefined;
    };

export type Effect = 'created' | 'updated' | 'removed';

/** A final outcome. */
export type Decided = Extract<Outcome, { readonly kind: 'committed' | 'unchanged' | 'absent' }>;

/** The state from which an attempt starts, and its origin. 'presumed': a create assumes that the object does not exist. */
export interface State {
  readonly origin: 'presumed' | 'cache' | 'store';
  readonly entry: Entry | undefined;
}

/** One write that is attempted until its outcome is final. */
export interface Attempts {
  readonly definition: ResourceDefinition;
  readonly name: string;
  readonly attempt: (entry: Entry | undefined) => Promise<Outcome>;
  readonly readStored: () => Promise<Entry | undefined>;
}

/**
 * Attempts a write until its outcome is final:
 * - After a conflict, it tries again from the state that was found.
 * - An outcome without a write, decided from cached state, is final only if the store has the same state. Else it tries again from the
 *   store's state.
 * - If a generated name is in use, it generates another one.
 * - If claims are lost, it makes them again. The same is true for a quota charge that a recount has given back.
 * - An unknown outcome (Timeout) is never tried again: the write may have taken effect.
 * - While the store does not answer (ServiceUnavailable), it is not asked whether its state is the same.
 */
export async function attemptUntilDecided(first: State, write: Attempts): Promise<Decided> {
  let state = first;
  const decided = await retry(MAX_TRIES, async (tries) => {
    const outcome = await write.attempt(state.entry).catch((error: unknown) => ({ kind: 'failed', error }) as const);
    const next = await stateAfter(outcome, { state, tries, readStored: write.readStored });
    if (next === undefined) return decidedBy(outcome, write);
    state = next;
    return undefined;
  });
  if (decided === undefined) throw StatusError.conflict(groupResource(write.definition), write.name);
  return decided;
}

/** Runs `step` until it returns a value, at most `limit` times. Returns undefined if it never does. */
export async function retry<T>(limit: number, step: (tries: number) => Promise<T | undefined>): Promise<T | undefined> {
  for (let tries = 1; tries <= limit; tries++) {
    const value = await step(tries);
    if (value !== undefined) return value;
  }
  return undefined;
}

type OutcomeOrError = Outcome | { readonly kind: 'failed'; readonly error: unknown };

/** The state for the next attempt; undefined when the outcome is final. */
async function stateAfter(
  outcome: OutcomeOrError,
  { state, tries, readStored }: { state: State; tries: number; readStored: Attempts['readStored'] },
): Promise<State | undefined> {
  switch (outcome.kind) {
    case 'committed':
      return undefined;
    case 'claims-lost':
      return state;
    case 'conflict':
      return { origin: 'store', entry: outcome.current };
    case 'taken':
      if (state.origin !== 'presumed') return { origin: 'store', entry: outcome.current };
      return outcome.isGenerated && tries < GENERATE_TRIES ? state : undefined;
    case 'failed':
      if (!(outcome.error instanceof StatusError) || isEnd(outcome.error)) return undefined;
      break;
    case 'unchanged':
    case 'absent':
      break;
  }
  if (state.origin !== 'cache') return undefined;
  const entry = await readStored();
  return entry?.resourceVersion === state.entry?.resourceVersion ? undefined : { origin: 'store', entry };
}

function isEnd(error: StatusError): boolean {
  return isReason(error, 'Timeout') || isReason(error, 'ServiceUnavailable');
}

function decidedBy(outcome: OutcomeOrError, { definition, name }: Attempts): Decided {
  switch (outcome.kind) {
    case 'failed':
      throw outcome.error;
    case 'taken':
      throw alreadyExists(definition, outcome.name, outcome.current);
    case 'claims-lost':
    case 'conflict':
      throw StatusError.conflict(groupResource(definition), name);
    default:
      return outcome;
  }
}

function alreadyExists(definition: ResourceDefinition, name: string, current: Entry | undefined): StatusError {
  const error = StatusError.alreadyExists(groupResource(definition), name);
  if (current?.response.object.metadata.deletionTimestamp === undefined) return error;
  return new StatusError('AlreadyExists', `object is being deleted: ${error.message}`, { details: error.details });
}
