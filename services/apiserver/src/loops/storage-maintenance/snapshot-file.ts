import { createHash } from 'node:crypto';
import { open, readdir, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { formatTime, type Instant } from '@gantry/base';
import { EtcdError, type SnapshotPart } from '@gantry/etcd';
import { type Pack, pack } from 'tar-stream';

/** `snapshot.json` of a snapshot; deploy/src/snapshot/snapshot-file.ts reads it. */
export interface SnapshotFacts {
  readonly format: 1;
  readonly clusterId: string;
  /** RFC 3339. */
  readonly takenAt: string;
  /** The revision of etcd's history, or an earlier one. */
  readonly revision: number;
  /** Keys of the cluster are never in a scheduled snapshot. */
  readonly keys: 'left-out';
  /** Ids of the keys under which Secrets in it may be sealed. */
  readonly sealingKeys: readonly string[];
}

const CHECKSUM_BYTES = 32;
const PARTIAL = '.partial';
/** Other files of the folder are never removed. */
const NAME = /^scheduled-(\d{4}-\d{2}-\d{2}T\d{2})-(\d{2})-(\d{2}Z)\.snapshot(\.partial)?$/;

/** A scheduled snapshot of the folder. */
export interface StoredSnapshot {
  readonly name: string;
  readonly takenAt: Instant;
}

/**
 * The complete scheduled snapshots of a folder, newest first. Those with a time after `now` come last: the clock was wrong when they were
 * taken, and they are older than those that were taken since.
 */
export async function listSnapshots(folder: string, now: Instant): Promise<readonly StoredSnapshot[]> {
  const found = (await readdir(folder)).flatMap((name) => {
    const [, hour = '', minute = '', second = '', partial] = NAME.exec(name) ?? [];
    const takenAt = Date.parse(`${hour}:${minute}:${second}`);
    return partial !== undefined || Number.isNaN(takenAt) ? [] : [{ name, takenAt }];
  });
  const sorted = found.toSorted((one, other) => other.takenAt - one.takenAt);
  const isPast = ({ takenAt }: StoredSnapshot) => takenAt <= now;
  return [...sorted.filter(isPast), ...sorted.filter((one) => !isPast(one))];
}

/** Removes all but the newest `keep` scheduled snapshots, in the order of `listSnapshots`. */
export async function pruneSnapshots(folder: string, keep: number, now: Instant): Promise<void> {
  for (const { name } of (await listSnapshots(folder, now)).slice(keep)) await rm(join(folder, name), { force: true });
}

/**
 * Writes the state of a member to a new file of the folder, as a tar archive that `npm run snapshot -- check|restore` reads. The file gets its
 * name when it is complete and on disk. Removes what earlier attempts have left. Throws EtcdError if the state is incomplete, and the file
 * system's error.
 */
export async function writeSnapshot(
  folder: string,
  facts: SnapshotFacts,
  parts: AsyncIterable<SnapshotPart>,
  signal: AbortSignal,
): Promise<StoredSnapshot> {
  const takenAt = Date.parse(facts.takenAt);
  const name = `scheduled-${formatTime(takenAt).replaceAll(':', '-')}.snapshot`;
  const partial = join(folder, `${name}${PARTIAL}`);
  await removePartials(folder);
  try {
    const archive = pack();
    // A stream that opens the file itself could create it after the removal below.
    const file = await open(partial, 'wx', 0o600);
    const target = file.createWriteStream({ flush: true });
    await Promise.all([pipeline(archive, target, { signal }), fill(archive, facts, parts, signal)]);
    await rename(partial, join(folder, name));
    await syncFolder(folder);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  return { name, takenAt };
}

/** Throws an Error unless as much space as a snapshot needs stays free beside it. The folder may be on the disk of etcd. */
export async function ensureRoom(folder: string, snapshotBytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize >= 2 * snapshotBytes) return;
  throw new SnapshotError(
    `${folder} has ${bavail * bsize} bytes left, and a snapshot of ${snapshotBytes} needs twice as many`,
  );
}

/** A snapshot cannot be written. */
export class SnapshotError extends Error {
  override readonly name = 'SnapshotError';
}

async function removePartials(folder: string): Promise<void> {
  const left = (await readdir(folder)).filter((name) => NAME.exec(name)?.[4] !== undefined);
  for (const name of left) await rm(join(folder, name), { force: true });
}

async function fill(
  archive: Pack,
  facts: SnapshotFacts,
  parts: AsyncIterable<SnapshotPart>,
  signal: AbortSignal,
): Promise<void> {
  try {
    archive.entry({ name: 'snapshot.json', mode: 0o600 }, `${JSON.stringify(facts, null, 2)}\n`);
    const source = parts[Symbol.asyncIterator]();
    const first = await source.next();
    if (first.done === true) throw new EtcdError('unavailable', 'the member sent no state');
    const { bytes, remainingBytes } = first.value;
    // The archive refuses an entry of another size.
    const size = bytes.length + remainingBytes + CHECKSUM_BYTES;
    await pipeline(
      Readable.from(verified(first.value, source)),
      archive.entry({ name: 'etcd.db', size, mode: 0o600 }),
      {
        signal,
      },
    );
    archive.finalize();
  } catch (error) {
    archive.destroy(error instanceof Error ? error : undefined);
    throw error;
  }
}

/** The bytes of all parts. Throws EtcdError if they do not end with the checksum of the others. */
async function* verified(first: SnapshotPart, rest: AsyncIterator<SnapshotPart>): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let end: Uint8Array = new Uint8Array();
  try {
    for (let part: IteratorResult<SnapshotPart> = { value: first }; part.done !== true; part = await rest.next()) {
      const seen = Buffer.concat([end, part.value.bytes]);
      const known = Math.max(0, seen.length - CHECKSUM_BYTES);
      hash.update(seen.subarray(0, known));
      end = seen.subarray(known);
      yield part.value.bytes;
    }
  } finally {
    await rest.return?.();
  }
  if (!hash.digest().equals(end)) throw new EtcdError('unavailable', 'the state of the member is incomplete');
}

/** Makes the new name durable. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
