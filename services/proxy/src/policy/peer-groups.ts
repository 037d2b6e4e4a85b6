import type { Selector } from '@gantry/objects';
import type { PeerGroup } from './parse-policy.ts';
import type { Subject, UsedGroup } from './subject.ts';

/** The usual bound of the members that the groups of one namespace's policies have in all. */
export const MAX_MEMBERS = 100_000;

type Labels = Readonly<Record<string, string>>;

/**
 * The pods that rules name as peers. What concerns a pod is found by its namespace: the number of other groups does not matter.
 * Work that may take long is a generator, which yields after each comparison of a pod with a group.
 */
export class PeerGroups {
  readonly #groups = new Map<string, UsedGroup>();
  /** The selectors of pods by namespace and group. */
  readonly #byNamespace = new Map<string, Map<UsedGroup, readonly Selector[]>>();
  /** Labels of the namespaces that are known. */
  readonly #namespaces = new Map<string, Labels>();
  readonly #charges = new Map<string, number>();
  readonly #maxMembers: number;
  readonly #subjectsIn: (namespace: string) => Iterable<Subject>;
  readonly #onChange: (subject: Subject) => void;

  /**
   * `onChange` is called for each pod whose membership changes. Pods beyond `maxMembers` for all groups of one namespace's policies are
   * no members: they are not allowed.
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

  /** Takes a namespace's labels; undefined when it is gone. */
  *setNamespace(name: string, labels: Labels | undefined): Generator<void> {
    const old = this.#namespaces.get(name);
    if (old !== undefined && labels !== undefined && JSON.stringify(old) === JSON.stringify(labels)) return;
    if (labels === undefined) this.#namespaces.delete(name);
    else this.#namespaces.set(name, labels);
    for (const group of this.#groups.values()) {
      if (!group.peers.some(({ namespace }) => typeof namespace !== 'string')) continue;
      this.#index(group, name);
      yield* this.#fillFrom(group, name);
      yield;
    }
  }

  /** Counts one more rule of the namespace that has the group. True when the group is new, and its set with it. */
  *acquire({ id, peers }: PeerGroup, user: string): Generator<void, boolean> {
    const known = this.#groups.get(id);
    if (known !== undefined) {
      known.users.set(user, (known.users.get(user) ?? 0) + 1);
      return false;
    }
    const group: UsedGroup = {
      id,
      peers,
      members: new Set(),
      users: new Map([[user, 1]]),
      payer: user,
      isShort: false,
    };
    this.#groups.set(id, group);
    for (const name of this.#namespacesOf(group)) {
      this.#index(group, name);
      yield;
    }
    yield* this.#fill(group);
    return true;
  }

  /** Ends what one `acquire` began. True when the group is gone. */
  *release({ id }: PeerGroup, user: string): Generator<void, boolean> {
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
      if (group.payer === user) this.#transfer(group, next);
      return false;
    }
    this.#groups.delete(id);
    this.#charge(group.payer, -group.members.size);
    for (const name of this.#namespacesOf(group)) this.#byNamespace.get(name)?.delete(group);
    for (const member of group.members) {
      member.groups.delete(group);
      this.#onChange(member);
      yield;
    }
    // There may be room for others now.
    for (const other of this.#short()) yield* this.#fill(other);
    return true;
  }

  /** Compares a pod with all groups that may concern it. */
  *place(subject: Subject): Generator<void> {
    for (const [group, selectors] of this.#byNamespace.get(subject.member.namespace) ?? []) {
      this.#compare(group, selectors, subject);
      yield;
    }
  }

  /** Takes a pod that is gone out of its groups. */
  remove(subject: Subject): void {
    for (const group of subject.groups) {
      group.members.delete(subject);
      this.#charge(group.payer, -1);
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

  *#fill(group: UsedGroup): Generator<void> {
    group.isShort = false;
    for (const name of this.#namespacesOf(group)) {
      yield* this.#fillFrom(group, name);
      yield;
    }
  }

  *#fillFrom(group: UsedGroup, namespace: string): Generator<void> {
    const selectors = this.#byNamespace.get(namespace)?.get(group) ?? [];
    for (const subject of this.#subjectsIn(namespace)) {
      this.#compare(group, selectors, subject);
      yield;
    }
  }

  #compare(group: UsedGroup, selectors: readonly Selector[], subject: Subject): void {
    const isMember = selectors.some((selector) => selector.matches(subject.member.labels));
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
    this.#charge(group.payer, isMember ? 1 : -1);
    this.#onChange(subject);
  }

  /** Whether one of the namespaces that use the group has room for one more member. It is the payer then. */
  #hasRoom(group: UsedGroup): boolean {
    if ((this.#charges.get(group.payer) ?? 0) < this.#maxMembers) return true;
    const other = [...group.users.keys()].find(
      (user) => user !== group.payer && (this.#charges.get(user) ?? 0) + group.members.size < this.#maxMembers,
    );
    if (other === undefined) return false;
    this.#transfer(group, other);
    return true;
  }

  #transfer(group: UsedGroup, payer: string): void {
    this.#charge(group.payer, -group.members.size);
    group.payer = payer;
    this.#charge(payer, group.members.size);
  }

  #charge(namespace: string, members: number): void {
    const charge = (this.#charges.get(namespace) ?? 0) + members;
    if (charge === 0) this.#charges.delete(namespace);
    else this.#charges.set(namespace, charge);
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
