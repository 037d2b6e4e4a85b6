import { LABEL, type Owner } from '../runtime/labels.ts';
import type { Inspections } from './inspections.ts';

/** A container as in a list or an event of the engine. */
export interface ListedContainer {
  readonly id: string;
  readonly labels: Readonly<Record<string, string>>;
}

interface Change {
  readonly container: ListedContainer;
  readonly what: 'came' | 'went';
}

/** A running list of all containers of a node. Dispose of it when the list has ended, also after a failure. */
export interface NodeList extends Disposable {
  /** Records the engine's response. */
  end(listed: readonly ListedContainer[]): void;
}

/**
 * Knows which containers the pods of nodes have, from the last list of a node and later changes. A list costs the engine time for each of
 * its containers, including those of other pods and clusters; the index finds a pod's containers without one. A node is known after a
 * list that began while events were followed, until events are no longer followed.
 */
export class ContainerIndex {
  /** Container ids by node and pod uid. */
  readonly #nodes = new Map<string, Map<string, Set<string>>>();
  /** The changes since the start of each running list. */
  readonly #lists = new Set<Change[]>();
  #followers = 0;

  /**
   * Declares that events are followed until the result is disposed of. Several callers may follow at the same time. Earlier events may be
   * missing.
   */
  follow(): Disposable {
    this.#followers += 1;
    return {
      [Symbol.dispose]: () => {
        this.#followers -= 1;
        this.#forget();
      },
    };
  }

  /** The ids of a pod's containers, some of which may be gone; undefined when the containers have to be listed. */
  find(owner: Owner, uid: string): readonly string[] | undefined {
    const pods = this.#nodes.get(keyOf(owner));
    return pods === undefined ? undefined : [...(pods.get(uid) ?? [])];
  }

  /** Call it before asking the engine: later changes count, whether or not the response includes them. */
  beginList(owner: Owner): NodeList {
    const changes: Change[] = [];
    if (this.#followers > 0) this.#lists.add(changes);
    return {
      end: (listed) => {
        // Following has stopped in between, so events may be missing.
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

  /** Call it on an event, or on the response to a creation, which may arrive before the event. */
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

/** What is known about the engine's containers without asking it. */
export interface KnownContainers {
  readonly inspections: Inspections;
  readonly containers: ContainerIndex;
}
