import type { Selector } from '@gantry/objects';
import type { PeerGroup } from './parse-policy.ts';
import type { Subject, UsedGroup } from './subject.ts';

/** The default bound for the members of all groups of one namespace's policies. */
export const MAX_MEMBERS = 100_000;

type Labels = Readonly<Record<string, string>>;
/** Yields the number of compared selector terms since the last yield. */
export type Work<T = void> = Generator<number, T>;

/**
 * The pods that rules select as peers. A pod's groups are found by its namespace, so the number of other groups does not matter. Work
 * that may take long is a generator that yields after each comparison of a pod with a group. Other work may run in between.
 */
export class PeerGroups {
  readonly #groups = new Map<string, UsedGroup>();
  /** The pod selectors by namespace and group. */
  readonly #byNamespace = new Map<string, Map<UsedGroup, readonly Selector[]>>();
  /** The labels of the known namespaces. */
  readonly #namespaces = new Map<string, Labels>();
  /** The number of members of the groups that count for each namespace. */
  readonly #memberCounts = new Map<string, number>();
  readonly #maxMembers: number;
  readonly #subjectsIn: (namespace: string) => Iterable<Subject>;
  readonly #onChange: (subject: Subject) => void;

  /**
   * `onChange` is called for each pod whose membership changes. `maxMembers` bounds the members of all groups of one namespace's
   * policies. Pods beyond it do not become members, so they are not allowed.
   */
  constructor(
    subjectsIn: (namespace: string) => Iterable<Subject>,
    onChange: (subject: Subject) => void,
    maxMembers = MAX_MEMBERS,
  ) {
    this.#maxMembers = maxMembers;
    this.#subjectsIn = subjectsIn;
    this.#onChange = onChange;
  }

  /** Takes a namespace's labels, or undefined if it is gone. */
  *setNamespace(name: string, labels: Labels | undefined): Work {
    const old = this.#namespaces.get(name);
    if (old !== undefined && labels !== undefined && JSON.stringify(old) === JSON.stringify(labels)) return;
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    for (const group of this.#groups.values()) {
      if (!group.peers.some(({ namespace }) => typeof namespace !== 'string')) continue;
      this.#index(group, name);
      yield group.terms;
      yield* this.#fillFrom(group, name);
    }
  }

  /** Counts one more rule of the namespace that uses the group. `onNew` is called before a new group gets its members. */
  *acquire({ id, peers, terms }: PeerGroup, user: string, onNew: () => void): Work {
    const known = this.#groups.get(id);
    if (known !== undefined) {
      known.users.set(user, (known.users.get(user) ?? 0) + 1);
      return;
    }
    const group: UsedGroup = {
      id,
      peers,
      terms,
      members: new Set(),
      users: new Map([[user, 1]]),
      countedTo: user,
      isShort: false,
    };
    this.#groups.set(id, group);
    onNew();
    for (const name of this.#namespacesOf(group)) {
      this.#index(group, name);
      yield terms;
    }
    yield* this.#fill(group);
  }

  /** Ends one `acquire`. Returns true if the group is gone. */
  *release({ id }: PeerGroup, user: string): Work<boolean> {
    const group = this.#groups.get(id);
    if (group === undefined) return false;
    const count = (group.users.get(user) ?? 1) - 1;
    if (count > 0) {
      group.users.set(user, count);
      return false;
    }
    group.users.delete(user);
    const [next] = group.users.keys();
    if (next !== undefined) {
      if (group.countedTo === user) this.#transfer(group, next);
      return false;
    }
    this.#groups.delete(id);
    this.#count(group.countedTo, -group.members.size);
    for (const name of this.#namespacesOf(group)) this.#byNamespace.get(name)?.delete(group);
    for (const member of group.members) {
      member.groups.delete(group);
      this.#onChange(member);
      yield 1;
    }
    if (group.members.size === 0) return true;
    // Now there is room for other groups of the namespace.
    for (const other of this.#short()) if (other.users.has(group.countedTo)) yield* this.#fill(other);
    return true;
  }

  /** Compares a pod with all groups that may include it. */
  *place(subject: Subject): Work {
    for (const group of this.#byNamespace.get(subject.member.namespace)?.keys() ?? []) {
      this.#compare(group, subject);
      yield group.terms;
    }
  }

  /** Removes a pod that is gone from its groups. */
  remove(subject: Subject): void {
    for (const group of subject.groups) {
      group.members.delete(subject);
      this.#count(group.countedTo, -1);
    }
    subject.groups.clear();
  }

  /** The number of groups without room for all their pods. */
  countShort(): number {
    return this.#short().length;
  }

  #short(): readonly UsedGroup[] {
    return [...this.#groups.values()].filter(({ isShort }) => isShort);
  }

  *#fill(group: UsedGroup): Work {
    group.isShort = false;
    for (const name of this.#namespacesOf(group)) {
      yield 1;
      yield* this.#fillFrom(group, name);
    }
  }

  *#fillFrom(group: UsedGroup, namespace: string): Work {
    for (const subject of this.#subjectsIn(namespace)) {
      this.#compare(group, subject);
      yield group.terms;
    }
  }

  #compare(group: UsedGroup, subject: Subject): void {
    const { namespace, labels } = subject.member;
    const selectors = this.#byNamespace.get(namespace)?.get(group) ?? [];
    const isMember = selectors.some((selector) => selector.matches(labels));
    if (isMember === subject.groups.has(group)) return;
    if (isMember && !this.#hasRoom(group)) {
      group.isShort = true;
      return;
    }
    if (isMember) {
      subject.groups.add(group);
      group.members.add(subject);
    } else {
      subject.groups.delete(group);
      group.members.delete(subject);
    }
    this.#count(group.countedTo, isMember ? 1 : -1);
    this.#onChange(subject);
  }

  /** Whether a namespace that uses the group has room for one more member. If so, the group counts for that namespace. */
  #hasRoom(group: UsedGroup): boolean {
    if ((this.#memberCounts.get(group.countedTo) ?? 0) < this.#maxMembers) return true;
    for (const user of group.users.keys()) {
      if (user === group.countedTo) continue;
      if ((this.#memberCounts.get(user) ?? 0) + group.members.size >= this.#maxMembers) continue;
      this.#transfer(group, user);
      return true;
    }
    return false;
  }

  #transfer(group: UsedGroup, namespace: string): void {
    this.#count(group.countedTo, -group.members.size);
    group.countedTo = namespace;
    this.#count(namespace, group.members.size);
  }

  #count(namespace: string, members: number): void {
    const count = (this.#memberCounts.get(namespace) ?? 0) + members;
    if (count === 0) this.#memberCounts.delete(namespace);
    else this.#memberCounts.set(namespace, count);
  }

  /** The namespaces in which the group may have members. */
  #namespacesOf({ peers }: PeerGroup): readonly string[] {
    const fixed = peers.flatMap(({ namespace }) => (typeof namespace === 'string' ? [namespace] : []));
    const isSelecting = peers.some(({ namespace }) => typeof namespace !== 'string');
    return [...new Set([...fixed, ...(isSelecting ? this.#namespaces.keys() : [])])];
  }

  #index(group: UsedGroup, name: string): void {
    const labels = this.#namespaces.get(name);
    const selectors = group.peers.flatMap(({ namespace, pods }) => {
      if (typeof namespace === 'string') return namespace === name ? [pods] : [];
      return labels !== undefined && namespace.matches(labels) ? [pods] : [];
    });
    const groups = this.#byNamespace.get(name) ?? new Map<UsedGroup, readonly Selector[]>();
    if (selectors.length === 0) groups.delete(group);
    else groups.set(group, selectors);
    if (groups.size === 0) this.#byNamespace.delete(name);
    else this.#byNamespace.set(name, groups);
  }
}
