import { CommandError } from '../machine/command-error.ts';

/** `snapshot.json` of a snapshot: where it comes from and what it contains. */
export interface SnapshotFacts {
  readonly format: 1;
  readonly clusterId: string;
  /** RFC 3339. */
  readonly takenAt: string;
  /** The revision of etcd's history. */
  readonly revision: number;
  readonly keys: 'included' | 'left-out';
  /** Ids of the keys under which Secrets in it may be sealed. */
  readonly sealingKeys: readonly string[];
}

/** Throws CommandError for a file that this version cannot restore. */
export function parseSnapshotFacts(text: string, file: string): SnapshotFacts {
  let facts: Partial<Record<keyof SnapshotFacts, unknown>>;
  try {
    facts = JSON.parse(text) as typeof facts;
  } catch {
    throw new CommandError(`${file} is no snapshot: its snapshot.json is no JSON`);
  }
  const { format, clusterId, takenAt, revision, keys, sealingKeys } = facts;
  if (format !== 1) throw new CommandError(`${file} has the format ${JSON.stringify(format)}; this version reads 1`);
  const isRight =
    typeof clusterId === 'string' &&
    typeof takenAt === 'string' &&
    typeof revision === 'number' &&
    (keys === 'included' || keys === 'left-out') &&
    Array.isArray(sealingKeys) &&
    sealingKeys.every((id): id is string => typeof id === 'string');
  if (!isRight) throw new CommandError(`${file} is no snapshot: its snapshot.json lacks fields`);
  return { format, clusterId, takenAt, revision, keys, sealingKeys };
}

/** Ids of the keys in a `keys.json` of sealing keys; none without the file. */
export function sealingKeyIds(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const { keys } = JSON.parse(text) as { readonly keys: readonly { readonly id: string }[] };
  return keys.map(({ id }) => id);
}

/** Why the Secrets of a snapshot could not be read after a restore; undefined when they can be. */
export function unreadableSecrets(
  facts: Pick<SnapshotFacts, 'sealingKeys' | 'keys'>,
  present: readonly string[],
  restored: 'file' | 'cluster',
): string | undefined {
  const available = restored === 'file' && facts.keys === 'included' ? facts.sealingKeys : present;
  const missing = facts.sealingKeys.filter((id) => !available.includes(id));
  if (missing.length === 0) return undefined;
  return `Secrets in it may be sealed under ${missing.join(', ')}, which this cluster does not have`;
}
