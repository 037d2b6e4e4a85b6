import { type Etcd, prefixEnd } from '@gantry/etcd';
import { decodeEnvelope, sealedWith } from './envelope.ts';
import { REGISTRY, versionOf } from './keys.ts';
import type { ObjectWriter } from './object-store.ts';
import type { Sealing } from './sealing.ts';

/** The result of a run. */
export interface Resealed {
  /** Number of objects that were written again. */
  readonly rewritten: number;
  /** Number of objects that were already sealed correctly. */
  readonly kept: number;
}

const PAGE = 500;
const WRITER = { name: 'system:apiserver' };

/**
 * Writes all objects again whose sealing is not current: sealed with an older key, not sealed although required, or sealed although not
 * required. Objects that change meanwhile are checked again. May be repeated and interrupted.
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
    // Another process may have written with the older key meanwhile, so the page is read again.
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

/** The id of the key that seals new writes of an object; undefined if they are in plain text. */
function wantedKey(key: string, sealing: Sealing): string | undefined {
  return sealing.seals(key) ? sealing.currentKeyId() : undefined;
}
