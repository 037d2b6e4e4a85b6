import { type Clock, errorMessage, sleep } from '@gantry/base';
import type { Etcd } from '@gantry/etcd';
import type { GroupMember, Logger } from '@gantry/service';

/** How long history is kept at least; at most twice as long. */
const EVERY_MS = 300_000;
const TIMEOUT_MS = 30_000;
const KEY = '/gantry/compaction';
/** A member's file is worth rewriting when it is big and mostly empty. */
const DEFRAGMENT_FROM_BYTES = 128 * 1024 * 1024;

interface CompactorOptions {
  readonly etcd: Pick<Etcd, 'kv' | 'maintenance' | 'memberCount'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Forgets history that is older than five minutes. Every apiserver tries at each turn; the one whose guarded write to the
 * compaction key lands does it, so that there is one owner per turn whoever is alive. The key holds the revision of its turn:
 * the next turn compacts to it.
 */
export function compactor(options: CompactorOptions): GroupMember {
  const { clock, logger } = options;
  return {
    name: 'compactor',
    run: async (signal) => {
      let seen: Seen | undefined;
      while (!signal.aborted) {
        try {
          seen = await takeTurn(options, seen, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
        } catch (error) {
          if (!signal.aborted) logger.warn({ reason: errorMessage(error) }, 'compaction failed');
        }
        await sleep(clock, EVERY_MS, signal).catch(() => undefined);
      }
    },
  };
}

/** The compaction key as this process saw it last. */
interface Seen {
  readonly modRevision: number;
  /** etcd's revision at that turn. */
  readonly revision: number;
}

async function takeTurn(
  { etcd, logger }: CompactorOptions,
  seen: Seen | undefined,
  signal: AbortSignal,
): Promise<Seen> {
  const stored = await etcd.kv.range({ key: KEY }, { signal });
  const current = { modRevision: stored.kvs[0]?.modRevision ?? 0, revision: stored.revision };
  // Someone else has had this turn, or it is the first: only remember.
  if (seen === undefined || seen.modRevision !== current.modRevision) return current;
  const won = await etcd.kv.transact(
    {
      compare: [{ key: KEY, target: 'mod-revision', equals: current.modRevision }],
      success: [{ kind: 'put', key: KEY, value: Buffer.from(String(seen.revision)) }],
      failure: [],
    },
    { signal },
  );
  if (!won.succeeded) return current;
  await etcd.maintenance.compact(seen.revision, { signal });
  logger.debug({ revision: seen.revision }, 'compacted');
  await defragmentOne({ etcd, logger }, signal);
  return { modRevision: won.revision, revision: won.revision };
}

/** Gives space back at one member that needs it, never at two in one turn: a member answers nothing meanwhile. */
async function defragmentOne(
  { etcd, logger }: Pick<CompactorOptions, 'etcd' | 'logger'>,
  signal: AbortSignal,
): Promise<void> {
  for (let member = 0; member < etcd.memberCount; member++) {
    const { dbSizeBytes, dbSizeInUseBytes } = await etcd.maintenance.status({ signal, member });
    if (dbSizeBytes < DEFRAGMENT_FROM_BYTES || dbSizeInUseBytes > dbSizeBytes / 2) continue;
    logger.info({ member, dbSizeBytes, dbSizeInUseBytes }, 'defragmenting');
    await etcd.maintenance.defragment({ signal, member });
    return;
  }
}
