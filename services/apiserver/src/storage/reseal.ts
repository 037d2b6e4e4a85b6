import { type Etcd, prefixEnd } from '@gantry/etcd';
import { decodeEnvelope, sealedWith } from './envelope.ts';
import { REGISTRY, versionOf } from './keys.ts';
import type { ObjectWriter } from './object-store.ts';
import type { Sealing } from './sealing.ts';

/** What a run has found. */
export interface Resealed {
  /** Objects that were written again. */
  readonly rewritten: number;
  /** Objects that were as they should be. */
  readonly kept: number;
}

const PAGE = 500;
const WRITER = { name: 'system:apiserver' };

/**
 * Writes every object again that is not stored as it would be now: sealed with an older key, not sealed though it should be, or
 * sealed though it should not be. Objects that change meanwhile are looked at again. May be repeated, and interrupted.
 */
export async function reseal(
  { etcd, store, sealing }: { etcd: Pick<Etcd, 'kv'>; store: ObjectWriter; sealing: Sealing },
  signal: AbortSignal,
): Promise<Resealed> {
  const rangeEnd = prefixEnd(REGISTRY);
  let [rewritten, kept] = [0, 0];
  for (let key = REGISTRY; ; ) {
    const { kvs, count } = await etcd.kv.range({ key, rangeEnd, limit: PAGE }, { signal });
    const stale = kvs.filter((kv) => sealedWith(kv.value) !== wantedKey(kv.key, sealing));
    const outcomes = await Promise.all(
      stale.map((kv) => {
        const { index, payload } = decodeEnvelope(kv.key, kv.value, sealing);
        const expected = versionOf(kv.modRevision, index);
        return store.write({ key: kv.key, expected, value: payload, writer: WRITER }, signal);
      }),
    );
    // A write of another process may have used the older key: the page is read again until none is left.
    if (outcomes.some(({ kind }) => kind !== 'committed')) {
      rewritten += outcomes.filter(({ kind }) => kind === 'committed').length;
      continue;
    }
    rewritten += stale.length;
    kept += kvs.length - stale.length;
    const last = kvs.at(-1);
    if (last === undefined || count <= kvs.length) return { rewritten, kept };
    key = `${last.key}\0`;
  }
}

/** The id of the key with which an object would be sealed now; undefined for one that would be stored in plain text. */
function wantedKey(key: string, sealing: Sealing): string | undefined {
  return sealing.seals(key) ? sealing.currentKeyId() : undefined;
}
