import { LABEL, type Owner } from '../runtime/labels.ts';
import type { Inspections } from './inspections.ts';

/** A container as a list of the engine, or an event, names it. */
export interface ListedContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Change {
  readonly container: ListedContainer;
  readonly what: 'came' | 'went';
}

/** A list of all containers of a node. Dispose of it when it has ended, however it did. */
export interface NodeList extends Disposable {
  /** What the engine has answered. */
  end(listed: readonly ListedContainer[]): void;
}

/**
 * Which containers the pods of nodes have: those of the last list of a node, with what has come and gone since. A list costs the engine
 * time for each container that it has, of whatever pod or cluster; with this a pod is found without one. It is known from a list that
 * began while events are followed until they are not followed any more.
 */
export class ContainerIndex {
  /** Ids by the uids of pods, by nodes. */
  readonly #nodes = new Map<string, Map<string, Set<string>>>();
  /** What has come and gone since lists began that have not ended. */
  readonly #lists = new Set<Change[]>();
  #followers = 0;

  /** Events are followed from now on until the result is disposed of, perhaps by others, too. Earlier ones may be missing. */
  follow(): Disposable {
    this.#followers += 1;
    return {
      [Symbol.dispose]: () => {
        this.#followers -= 1;
        this.#forget();
      },
    };
  }

  /** The ids of a pod's containers, of which some may have gone; undefined where they have to be listed. */
  find(owner: Owner, uid: string): readonly string[] | undefined {
    const pods = this.#nodes.get(keyOf(owner));
    return pods === undefined ? undefined : [...(pods.get(uid) ?? [])];
  }

  /** Call it before the engine is asked: changes from then on count, whether or not its answer has them. */
  beginList(owner: Owner): NodeList {
    const changes: Change[] = [];
    if (this.#followers > 0) this.#lists.add(changes);
    return {
      end: (listed) => {
        // Events were not followed all the time.
        if (!this.#lists.has(changes)) return;
        const key = keyOf(owner);
        const pods = new Map<string, Set<string>>();
        for (const container of listed) apply(pods, { container, what: 'came' });
        for (const change of changes) if (keyOf(ownerOf(change.container)) === key) apply(pods, change);
        this.#nodes.set(key, pods);
      },
      [Symbol.dispose]: () => void this.#lists.delete(changes),
    };
  }

  /** By an event, or by the answer to its creation, which may come before the event. */
  came(container: ListedContainer): void {
    this.#note({ container, what: 'came' });
  }

  went(container: ListedContainer): void {
    this.#note({ container, what: 'went' });
  }

  #note(change: Change): void {
    for (const changes of this.#lists) changes.push(change);
    const pods = this.#nodes.get(keyOf(ownerOf(change.container)));
    if (pods !== undefined) apply(pods, change);
  }

  #forget(): void {
    this.#nodes.clear();
    this.#lists.clear();
  }
}

function apply(pods: Map<string, Set<string>>, { container: { id, labels }, what }: Change): void {
  const uid = labels[LABEL.podUid] ?? '';
  if (uid === '') return;
  const ids = pods.get(uid) ?? new Set();
  if (what === 'came') ids.add(id);
  else ids.delete(id);
  if (ids.size > 0) pods.set(uid, ids);
  else pods.delete(uid);
}

function ownerOf({ labels }: ListedContainer): Owner {
  return { cluster: labels[LABEL.cluster] ?? '', node: labels[LABEL.node] ?? '' };
}

function keyOf({ cluster, node }: Owner): string {
  return `${cluster}/${node}`;
}

/** What is known of the engine's containers without a question to it. */
export interface KnownContainers {
  readonly inspections: Inspections;
  readonly containers: ContainerIndex;
}
