import { must } from '@gantry/base';
import { type JsonObject, type KubeObject, StatusError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { createEntry, type Entry } from '../../cache/index.ts';
import { encodeProtobuf } from '../objects/response-of.ts';
import { definitionOf } from '../testing.ts';
import { attemptUntilDecided, MAX_TRIES, type Outcome, type State } from './attempts.ts';

const OBJECT: KubeObject = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'n' } };
const entryAt = (resourceVersion: number): Entry =>
  createEntry(
    { key: '/registry/configmaps/n/a', object: OBJECT as JsonObject, resourceVersion, bytes: 1 },
    encodeProtobuf,
  );
const OLD = entryAt(256);
const NEW = entryAt(512);
const refused = StatusError.forbidden({ group: '', resource: 'configmaps' }, 'a', 'not in this state');

/** Runs attempts with an outcome per state. Returns the versions of the attempts. */
async function run(
  first: State,
  outcomeOf: (entry: Entry | undefined) => Outcome | StatusError,
  stored: Entry | 'not-asked' = NEW,
) {
  const tried: (number | undefined)[] = [];
  const decided = await attemptUntilDecided(first, {
    definition: definitionOf('configmaps'),
    name: 'a',
    attempt: (entry) => {
      tried.push(entry?.resourceVersion);
      const outcome = outcomeOf(entry);
      return outcome instanceof StatusError ? Promise.reject(outcome) : Promise.resolve(outcome);
    },
    readStored: () =>
      stored === 'not-asked' ? Promise.reject(new TypeError('the store was asked')) : Promise.resolve(stored),
  }).catch((error: unknown) => error);
  return { tried, decided };
}

const committed: Outcome = { kind: 'committed', response: NEW.response, effect: 'updated' };

describe('attempts at a write', () => {
  it('end with the first commit', async () => {
    expect(await run({ origin: 'cache', entry: OLD }, () => committed)).toEqual({ tried: [256], decided: committed });
  });

  it('go on from the state that a conflict found, as long as others write', async () => {
    const found = await run({ origin: 'store', entry: OLD }, (entry) =>
      entry === OLD ? { kind: 'conflict', current: NEW } : committed,
    );
    expect(found).toEqual({ tried: [256, 512], decided: committed });
    const never = await run({ origin: 'store', entry: OLD }, () => ({ kind: 'conflict', current: NEW }));
    expect(never.tried).toHaveLength(MAX_TRIES);
    expect(never.decided).toMatchObject({ reason: 'Conflict' });
  });

  it.each<[string, Outcome | StatusError]>([
    ['a refusal', refused],
    ['that nothing changes', { kind: 'unchanged', response: OLD.response }],
    ['that nothing is there', { kind: 'absent' }],
  ])('do not let %s stand that was decided from an old cache', async (_what, outcome) => {
    const found = await run({ origin: 'cache', entry: OLD }, (entry) => (entry === OLD ? outcome : committed));
    expect(found).toEqual({ tried: [256, 512], decided: committed });
  });

  it('let stand what was decided from the state of the store', async () => {
    expect(await run({ origin: 'cache', entry: NEW }, () => refused)).toEqual({ tried: [512], decided: refused });
    expect(await run({ origin: 'store', entry: OLD }, () => refused)).toEqual({ tried: [256], decided: refused });
  });

  it('end with an unknown outcome, which may have been a commit', async () => {
    const unknown = StatusError.timeout('the outcome of the write is not known');
    expect(await run({ origin: 'cache', entry: OLD }, () => unknown)).toEqual({ tried: [256], decided: unknown });
  });

  it('end without another question to a store that does not answer', async () => {
    const unavailable = StatusError.unavailable('the store cannot be reached');
    const found = await run({ origin: 'cache', entry: OLD }, () => unavailable, 'not-asked');
    expect(found).toEqual({ tried: [256], decided: unavailable });
  });

  it('begin again from the same state when claims are lost, and not for ever', async () => {
    let tries = 0;
    const found = await run({ origin: 'store', entry: OLD }, () =>
      ++tries === 1 ? { kind: 'claims-lost', key: 'k' } : committed,
    );
    expect(found).toEqual({ tried: [256, 256], decided: committed });
    const never = await run({ origin: 'store', entry: OLD }, () => ({ kind: 'claims-lost', key: 'k' }));
    expect(never.tried).toHaveLength(MAX_TRIES);
    expect(never.decided).toMatchObject({ reason: 'Conflict' });
  });

  it('go on from the object that has taken the name, where an update would have created one', async () => {
    const taken: Outcome = { kind: 'taken', name: 'a', isGenerated: false, current: NEW };
    const found = await run({ origin: 'store', entry: undefined }, (entry) =>
      entry === undefined ? taken : committed,
    );
    expect(found).toEqual({ tried: [undefined, 512], decided: committed });
  });

  it('say of a name that is taken whether its object is being deleted', async () => {
    const refusal = async (deletionTimestamp: string | undefined) => {
      const object = { ...OBJECT, metadata: { ...OBJECT.metadata, deletionTimestamp } } as JsonObject;
      const current = createEntry({ key: 'k', object, resourceVersion: 512, bytes: 1 }, encodeProtobuf);
      const taken: Outcome = { kind: 'taken', name: 'a', isGenerated: false, current };
      const { decided } = await run({ origin: 'presumed', entry: undefined }, () => taken);
      const { reason, message, details } = decided as StatusError;
      return [reason, message, details];
    };
    const details = { name: 'a', kind: 'configmaps' };
    const message = 'configmaps "a" already exists';
    expect(await refusal(undefined)).toEqual(['AlreadyExists', message, details]);
    expect(await refusal('2026-01-01T00:00:00Z')).toEqual([
      'AlreadyExists',
      `object is being deleted: ${message}`,
      details,
    ]);
  });

  it('generate another name while one is in use, and not for ever', async () => {
    const taken: Outcome = { kind: 'taken', name: 'a', isGenerated: true, current: NEW };
    let tries = 0;
    const found = await run({ origin: 'presumed', entry: undefined }, () => (++tries < 3 ? taken : committed));
    expect(found.tried).toHaveLength(3);
    const never = await run({ origin: 'presumed', entry: undefined }, () => taken);
    expect(never.decided).toMatchObject({ reason: 'AlreadyExists' });
    const given = await run({ origin: 'presumed', entry: undefined }, () => ({ ...taken, isGenerated: false }));
    expect(must(given.tried, 'tries')).toHaveLength(1);
    expect(given.decided).toMatchObject({ reason: 'AlreadyExists' });
  });
});
