import type { ClientWatch } from '../artifacts.ts';
import { FREQUENT, type World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Findings } from '../verdict.ts';
import {
  atomic,
  bookmarkable,
  ChangeLog,
  ordered,
  reliable,
  type ResourceChange,
  resumable,
  truthful,
  unique,
  type Validator,
  type WatchRecording,
} from '../watch-validators.ts';
import type { Invariant, Observer } from './invariant.ts';

type Item = WatchRecording['items'][number];

interface Recorded extends WatchRecording {
  readonly name: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly items: Item[];
  readonly opened: Source;
  readonly openedMs: number;
  /** Lines of the items. */
  readonly lines: number[];
}

/** The clients' watches, and the changes of what they watched. All six invariants share one. */
class Watches implements Observer {
  readonly recordings: Recorded[] = [];
  /** Watches that cannot be compared with the history, by reason. */
  readonly undecided: string[] = [];
  readonly #world: World;
  readonly #open = new Map<string, Recorded>();
  readonly #changes = new Map<string, ResourceChange[]>();
  readonly #logs = new Map<string, ChangeLog>();
  #firstVersion = 0;

  constructor(world: World) {
    this.#world = world;
  }

  begin(): void {
    const initial = [...this.#world.objects.values()].toSorted(
      (one, other) => one.resourceVersion - other.resourceVersion,
    );
    for (const { resource, namespace, name, resourceVersion } of initial) {
      this.#add(resource, { type: 'put', key: keyBelow(namespace, name), version: resourceVersion });
      this.#firstVersion = Math.max(this.#firstVersion, resourceVersion);
    }
  }

  change({ resource, namespace, name, resourceVersion, after }: Parameters<NonNullable<Observer['change']>>[0]): void {
    this.#add(resource, {
      type: after === undefined ? 'delete' : 'put',
      key: keyBelow(namespace, name),
      version: resourceVersion,
    });
  }

  client(line: Parameters<NonNullable<Observer['client']>>[0], source: Source): void {
    if (!('watch' in line)) return;
    const id = `${source.file} ${line.watch}`;
    if (line.type === 'OPEN') this.#start(id, line, source);
    else if (line.type === 'CLOSE') this.#open.delete(id);
    else if (line.type !== 'ERROR') this.#item(id, line, source);
  }

  logOf({ resource, namespace }: Recorded): ChangeLog {
    const id = `${resource} ${namespace ?? ''}`;
    const known = this.#logs.get(id);
    if (known !== undefined) return known;
    const all = this.#changes.get(resource) ?? [];
    const own = namespace === undefined ? all : all.filter(({ key }) => key.startsWith(`${namespace}/`));
    const log = new ChangeLog(own, this.#world.versionsPerRevision);
    this.#logs.set(id, log);
    return log;
  }

  #add(resource: string, change: ResourceChange): void {
    if (FREQUENT.has(resource)) return;
    const changes = this.#changes.get(resource) ?? [];
    changes.push(change);
    this.#changes.set(resource, changes);
  }

  #start(id: string, { resource = '', namespace, resourceVersion, watch, atMs }: ClientWatch, source: Source): void {
    const from = Number(resourceVersion);
    if (resource === '' || FREQUENT.has(resource)) this.undecided.push(`watches of ${resource || 'no resource'}`);
    else if (resourceVersion === undefined || Number.isNaN(from) || from < this.#firstVersion) {
      this.undecided.push('watches that begin before the recorded history, or at no version');
    } else {
      const recording = {
        name: watch,
        client: 0,
        resource,
        namespace,
        from,
        items: [],
        lines: [],
        opened: source,
        openedMs: atMs,
      };
      this.#open.set(id, recording);
      this.recordings.push(recording);
    }
  }

  #item(id: string, { type, key = '', resourceVersion }: ClientWatch, source: Source): void {
    const recording = this.#open.get(id);
    const version = Number(resourceVersion);
    if (recording === undefined) return;
    if (type === 'BOOKMARK') recording.items.push({ type, version });
    else if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED')
      recording.items.push({ type, key, version });
    recording.lines.push(source.line);
  }
}

function keyBelow(namespace: string, name: string): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** By the history of a world. */
const shared = new WeakMap<object, Watches>();

function watchesOf(world: World): { readonly watches: Watches; readonly isFirst: boolean } {
  const known = shared.get(world.history);
  const watches = known ?? new Watches(world);
  shared.set(world.history, watches);
  return { watches, isFirst: known === undefined };
}

function judge(
  watches: Watches,
  findings: Findings,
  validators: readonly Validator[],
  unit: 'items' | 'watches',
): void {
  for (const reason of watches.undecided) findings.undecided(reason);
  for (const recording of watches.recordings) {
    findings.checked(unit === 'items' ? recording.items.length : 1);
    for (const { what, item } of validators.flatMap((validate) => validate(recording, watches.logOf(recording)))) {
      const line = item === undefined ? undefined : recording.lines[item];
      const source = line === undefined ? undefined : { file: recording.opened.file, line };
      const where = `watch ${recording.name} of ${recording.resource} from ${recording.from}`;
      findings.violation(recording.openedMs, `${where}: ${what}`, recording.opened, source);
    }
  }
}

/** An invariant that validators decide, watch by watch. */
export function watchInvariant(
  id: string,
  title: string,
  unit: 'items' | 'watches',
  ...validators: readonly Validator[]
): Invariant {
  return {
    id,
    title,
    unit: unit === 'items' ? 'items of watches' : 'watches',
    needs: ['etcd', 'clients'],
    observe(world, findings) {
      const { watches, isFirst } = watchesOf(world);
      const finish = () => {
        judge(watches, findings, validators, unit);
      };
      return isFirst
        ? {
            begin: () => watches.begin(),
            change: (change) => watches.change(change),
            client: (line, source) => watches.client(line, source),
            cut: finish,
            finish,
          }
        : { cut: finish, finish };
    },
  };
}

/** I26 (etcd: Ordered). The versions of a watch never fall, bookmarks included. */
export const watchesOrdered = watchInvariant('I26', 'Watches are ordered', 'items', ordered);

/** I27 (etcd: Unique). A watch delivers no event twice, and only events that happened, with their type. */
export const watchesUnique = watchInvariant(
  'I27',
  'Watches deliver each event once, as it was',
  'items',
  unique,
  truthful,
);

/** I28 (etcd: Atomic). No bookmark is between two events of one revision. */
export const watchesAtomic = watchInvariant('I28', 'Watches do not split a revision', 'items', atomic);

/** I29 (etcd: Reliable). A watch has no gap. */
export const watchesReliable = watchInvariant('I29', 'Watches have no gap', 'items', reliable);

/** I30 (etcd: Resumable). A watch from a version begins with the first event after it. */
export const watchesResumable = watchInvariant('I30', 'Watches resume where they are told to', 'watches', resumable);

/** I31 (etcd: Bookmarkable). Everything up to a bookmark was delivered before it, and nothing up to it comes later. */
export const watchesBookmarkable = watchInvariant('I31', 'Bookmarks are true', 'items', bookmarkable);
