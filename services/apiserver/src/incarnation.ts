import type { NewUid } from '@gantry/base';
import type { KeyValueStore } from '@gantry/etcd';
import { INCARNATION_KEY } from './storage/index.ts';

/** Returns the store's incarnation; creates it if missing. A restore from a snapshot writes a new one, so that old epochs are invalid. */
export async function ensureIncarnation(kv: KeyValueStore, newUid: NewUid, signal: AbortSignal): Promise<string> {
  await kv.transact(
    {
      compare: [{ key: INCARNATION_KEY, target: 'create-revision', equals: 0 }],
      success: [{ kind: 'put', key: INCARNATION_KEY, value: Buffer.from(newUid()) }],
      failure: [],
    },
    { signal },
  );
  const { kvs } = await kv.range({ key: INCARNATION_KEY }, { signal });
  return Buffer.from(kvs[0]?.value ?? new Uint8Array()).toString('utf8');
}
