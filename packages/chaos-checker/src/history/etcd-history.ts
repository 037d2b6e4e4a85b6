import { ETCD_LINE, type EtcdEvent } from '../artifacts.ts';
import { type FileEnd, readLines, type Source } from '../read-artifacts.ts';

/** All events of one etcd revision, as one member delivered them. */
interface RevisionGroup {
  readonly revision: number;
  readonly atMs: number;
  readonly events: EtcdEvent[];
  readonly source: Source;
}

/** One revision of the history that all members share. */
export interface Revision extends RevisionGroup {
  /** Members that delivered other events, or not this revision although they delivered a later one. */
  readonly disagreements: readonly { readonly what: string; readonly source: Source }[];
}

/** Reads the members' histories side by side, by revision; `atMs` is when the first member delivered it. */
export async function* mergedHistory(
  folder: string,
  members: readonly string[],
  { firstRevision, end }: { readonly firstRevision: number; readonly end: FileEnd },
): AsyncGenerator<Revision> {
  const readers = members.map((member) => new MemberReader(folder, `etcd/${member}.jsonl`, { firstRevision, end }));
  try {
    for (const reader of readers) await reader.advance();
    yield* inRevisions(readers);
  } finally {
    await Promise.all(readers.map((reader) => reader.close()));
  }
}

async function* inRevisions(readers: readonly MemberReader[]): AsyncGenerator<Revision> {
  for (;;) {
    const live = readers.filter(({ head }) => head !== undefined);
    if (live.length === 0) return;
    const revision = Math.min(...live.map(({ head }) => head?.revision ?? 0));
    const holders = live.filter(({ head }) => head?.revision === revision);
    const first = earliest(holders.flatMap(({ head }) => head ?? []));
    if (first === undefined) return;
    const events = first.events;
    const disagreements = live.flatMap((reader) => reader.disagreement(revision, events));
    yield { ...first, disagreements };
    for (const reader of holders) await reader.advance();
  }
}

function earliest(groups: readonly RevisionGroup[]): RevisionGroup | undefined {
  return groups.reduce<RevisionGroup | undefined>(
    (best, group) => (best === undefined || group.atMs < best.atMs ? group : best),
    undefined,
  );
}

/** One member's history by revision. `head` is the next one. */
class MemberReader {
  head: RevisionGroup | undefined;
  readonly #groups: AsyncGenerator<RevisionGroup>;
  readonly #file: string;
  /** Revisions before this one are not expected of the member: it was compacted, or its watch began later. */
  #expectedFrom: number;
  #backwards: { what: string; source: Source }[] = [];

  constructor(
    folder: string,
    file: string,
    { firstRevision, end }: { readonly firstRevision: number; readonly end: FileEnd },
  ) {
    this.#file = file;
    this.#expectedFrom = firstRevision;
    this.#groups = this.#read(folder, end);
  }

  async close(): Promise<void> {
    await this.#groups.return(undefined);
  }

  async advance(): Promise<void> {
    const next = await this.#groups.next();
    this.head = next.done === true ? undefined : next.value;
  }

  disagreement(revision: number, events: readonly EtcdEvent[]): readonly { what: string; source: Source }[] {
    const found = this.#backwards;
    this.#backwards = [];
    const head = this.head;
    if (head === undefined) return found;
    if (head.revision > revision) {
      if (revision < this.#expectedFrom) return found;
      return [
        ...found,
        { what: `${this.#file} has no revision ${revision}, but ${head.revision}`, source: head.source },
      ];
    }
    return sameEvents(head.events, events)
      ? found
      : [...found, { what: `${this.#file} has other events at revision ${revision}`, source: head.source }];
  }

  async *#read(folder: string, end: FileEnd): AsyncGenerator<RevisionGroup> {
    let group: RevisionGroup | undefined;
    for await (const [line, source] of readLines(folder, this.#file, ETCD_LINE, end)) {
      if ('compacted' in line) {
        if (group !== undefined) yield group;
        group = undefined;
        this.#expectedFrom = Math.max(this.#expectedFrom, line.compacted.compactRevision);
        continue;
      }
      if (!('events' in line)) continue;
      for (const event of line.events) {
        if (group !== undefined && event.modRevision === group.revision) {
          group.events.push(event);
          continue;
        }
        if (group !== undefined && event.modRevision < group.revision) {
          const what = `${this.#file} goes back from revision ${group.revision} to ${event.modRevision}`;
          this.#backwards.push({ what, source });
          continue;
        }
        if (group !== undefined) yield group;
        group = { revision: event.modRevision, atMs: line.atMs, events: [event], source };
      }
    }
    if (group !== undefined) yield group;
  }
}

function sameEvents(one: readonly EtcdEvent[], other: readonly EtcdEvent[]): boolean {
  return one === other || (one.length === other.length && one.every((event, index) => sameEvent(event, other[index])));
}

function sameEvent(one: EtcdEvent, other: EtcdEvent | undefined): boolean {
  if (other === undefined || one.key !== other.key || one.modRevision !== other.modRevision) return false;
  if (one.type === 'delete' || other.type === 'delete') return one.type === other.type;
  return one.value === other.value && one.createRevision === other.createRevision && one.version === other.version;
}
