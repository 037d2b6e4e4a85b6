import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@gantry/base';
import type { InformerEvent } from '@gantry/controller-runtime';
import {
  type AddressRange,
  ENDPOINT_SLICES,
  NAMESPACES,
  NETWORK_POLICIES,
  type NetworkPolicy,
  NODES,
  parseKey,
  PODS,
} from '@gantry/objects';
import type { Fragment } from '../rules/fragment.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import type { HostReach } from '../rules/topology.ts';
import { Changes, takeAll } from './changes.ts';
import { isSameMember, type Member } from './member.ts';
import { NamedPortSets } from './named-port-sets.ts';
import { leavesRoom, NamespacePolicies, type Replacement } from './namespace-policies.ts';
import { NodeAddresses } from './node-addresses.ts';
import { groupsOf, namedPortsOf, type Policy, writtenSize } from './parse-policy.ts';
import { PeerGroups, type Work } from './peer-groups.ts';
import { peersSet, planPolicy } from './policy-chains.ts';
import { NO_POLICIES, planIsolation, planSubject, SharedSelections, type Subject, type UsedPolicy } from './subject.ts';

/** What the proxy's caches hold for policies. */
export const POLICY_RESOURCES = [NETWORK_POLICIES, NAMESPACES, NODES, PODS, ENDPOINT_SLICES];

/** How long a turn of the event loop may take, and how many terms are compared between two looks at the clock. */
const TURN_MS = 20;
const STEPS = 200;
/** How many comparisons of a label take as long as reading one entry of a policy; about. */
const READ_TERMS = 10;

/** What the view needs in addition to the rule book, and whom it reports to. */
export interface PolicyViewOptions extends PolicyReports {
  readonly podRange: AddressRange;
  readonly podCidr: string;
  readonly reach: HostReach;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** What is beyond the bounds. */
export interface PolicyReports {
  /** A policy of which some rules are left out, since it or its namespace has too many: what they allow stays closed. */
  readonly onOmitted: (policy: string, rules: number) => void;
  /** A namespace has no room for one of its policies: all of its pods are isolated. */
  readonly onClosed: (namespace: string, policy: string) => void;
  /** Some sets of peers lack pods, since the policies of a namespace name too many: these are not allowed. */
  readonly onShort: (sets: number) => void;
  /** More policies select a pod of the namespace than a pod may have: what some of them allow stays closed for it. */
  readonly onCrowded: (namespace: string) => void;
}

/**
 * Keeps the rule book in step with NetworkPolicies, pods and namespaces. Changes are only noted by `take`; `synchronize` works them off. A
 * change of a pod looks at the policies and peers that may concern its namespace, a change of a policy at the pods of its namespace.
 */
export class PolicyView {
  readonly #book: RuleBook;
  readonly #options: PolicyViewOptions;
  readonly #subjects = new Map<string, Subject>();
  readonly #subjectsByNamespace = new Map<string, Set<Subject>>();
  readonly #policies = new Map<string, NamespacePolicies>();
  readonly #groups: PeerGroups;
  readonly #namedPorts: NamedPortSets;
  readonly #holders = new AddressHolders();
  readonly #nodes: NodeAddresses;
  readonly #changes: Changes;
  #short = 0;
  readonly #crowded = new Set<string>();
  #shared = new SharedSelections();

  /** Changes of policies that wait for their namespace's next share, those that wait longest first. */
  #late = new Map<string, NetworkPolicy | undefined>();
  /** Policies that `catchUp` has not worked off yet. */
  readonly #due = new Set<string>();
  /** Policies whose namespace has room for what was left out of them. */
  readonly #retried = new Set<string>();
  /** Pods whose part of the table may be another one. */
  readonly #touched = new Set<Subject>();

  constructor(book: RuleBook, options: PolicyViewOptions) {
    this.#book = book;
    this.#options = options;
    this.#nodes = new NodeAddresses(options.podCidr, options.reach);
    this.#changes = new Changes(options.podCidr);
    const onChange = (subject: Subject) => this.#touched.add(subject);
    this.#groups = new PeerGroups((namespace) => this.#subjectsByNamespace.get(namespace) ?? [], onChange);
    this.#namedPorts = new NamedPortSets({
      onNew: (set) => this.#putSet(set, 'type ipv4_addr . inet_service;'),
      onGone: (set) => this.#book.remove(`set/${set}`),
      onChange,
    });
  }

  /** Takes what the caches report, in order. */
  take(event: InformerEvent): void {
    this.#changes.take(event);
  }

  /**
   * Brings the rule book up to date. Gives other work of the process its turn in between. False when policies of some namespaces wait for
   * the next call.
   */
  async synchronize(signal: AbortSignal): Promise<boolean> {
    const { clock, onShort, onCrowded } = this.#options;
    let start = clock.monotonicMs();
    let steps = 0;
    for (const done of this.#work()) {
      steps += done;
      if (steps < STEPS) continue;
      steps = 0;
      if (clock.monotonicMs() - start < TURN_MS) continue;
      await turn();
      signal.throwIfAborted();
      start = clock.monotonicMs();
    }
    const short = this.#groups.countShort();
    if (short > this.#short) onShort(short);
    this.#short = short;
    for (const namespace of this.#shared.crowded) {
      if (!this.#crowded.has(namespace)) onCrowded(namespace);
      this.#crowded.add(namespace);
    }
    return this.#changes.policies.size + this.#late.size + this.#retried.size === 0;
  }

  /**
   * Rounds until all policies that were known at the call have been worked off, whatever changes meanwhile: what is written before would
   * open pods that they isolate. False as of `synchronize`.
   */
  async catchUp(signal: AbortSignal): Promise<boolean> {
    for (const key of this.#changes.policies.keys()) this.#due.add(key);
    for (;;) {
      const isDone = await this.synchronize(signal);
      if (this.#due.size === 0) return isDone;
    }
  }

  /**
   * Namespaces and policies that change meanwhile wait for the next call, and so do policies of a namespace that has had its share: what a
   * tenant does to them delays the isolation of new pods, and the rules of Services, by no more than that and one policy. Pods that
   * change meanwhile are looked at once more.
   */
  *#work(): Work {
    this.#shared = new SharedSelections();
    yield* this.#setNodes();
    yield* this.#setMembers();
    for (const [name, object] of takeAll(this.#changes.namespaces)) {
      yield* this.#groups.setNamespace(name, object === undefined ? undefined : (object.metadata.labels ?? {}));
    }
    yield* this.#setPolicies();
    yield* this.#setMembers();
    yield* this.#writeTouched();
  }

  *#writeTouched(): Work {
    const { podRange } = this.#options;
    const surroundings = { podRange, namedPorts: this.#namedPorts, nodes: this.#nodes, shared: this.#shared };
    const isolations = new Map<string, Fragment>();
    for (const subject of this.#touched) {
      this.#touched.delete(subject);
      const { address } = subject.member;
      let isolation = isolations.get(address);
      if (isolation === undefined) {
        const holders = this.#holders.of(address);
        isolation = planIsolation(address, holders, surroundings);
        isolations.set(address, isolation);
        this.#touchOthers(subject);
        yield holders.size * (1 + subject.selection.size);
      }
      this.#write(subject.member.key, planSubject(subject, isolation, surroundings));
      yield 1 + subject.groups.size;
    }
  }

  /** What isolates an address depends on all pods that have it. */
  #touchOthers(subject: Subject): void {
    for (const other of this.#holders.of(subject.member.address)) if (other !== subject) this.#touched.add(other);
  }

  *#setNodes(): Work {
    for (const [name, node] of takeAll(this.#changes.nodes)) {
      if (!this.#nodes.take(name, node)) continue;
      for (const subject of this.#subjects.values()) {
        if (subject.member.node === name) this.#touched.add(subject);
        yield 1;
      }
    }
  }

  *#setMembers(): Work {
    for (const [key, member] of takeAll(this.#changes.members)) yield* this.#setMember(key, member);
  }

  *#setPolicies(): Work {
    const shares = new RoundShares();
    const changed = this.#late;
    this.#late = new Map();
    // A key that waits already keeps its place.
    for (const [key, object] of takeAll(this.#changes.policies)) changed.set(key, object);
    const retried = [...this.#retried].filter((key) => !changed.has(key));
    this.#retried.clear();
    for (const [key, object] of changed) {
      if (yield* shares.take(parseKey(key).namespace, () => this.#setPolicy(key, object))) this.#due.delete(key);
      else this.#late.set(key, object);
    }
    for (const key of retried) {
      const object = this.#policies.get(parseKey(key).namespace)?.objectOf(key);
      if (object === undefined) continue;
      if (!(yield* shares.take(parseKey(key).namespace, () => this.#setPolicy(key, object)))) this.#retried.add(key);
    }
  }

  *#setMember(key: string, member: Member | undefined): Work {
    const known = this.#subjects.get(key);
    if (member === undefined) {
      if (known !== undefined) this.#removeSubject(key, known);
      return;
    }
    if (known !== undefined && isSameMember(known.member, member)) return;
    const subject: Subject = known ?? { member, selection: NO_POLICIES, groups: new Set() };
    this.#leave(subject);
    subject.member = member;
    this.#namedPorts.addSubject(subject);
    this.#holders.add(subject);
    if (known === undefined) {
      this.#subjects.set(key, subject);
      const inNamespace = this.#subjectsByNamespace.get(member.namespace) ?? new Set();
      this.#subjectsByNamespace.set(member.namespace, inNamespace.add(subject));
    }
    this.#touched.add(subject);
    const selecting: UsedPolicy[] = [];
    for (const used of this.#policies.get(member.namespace)?.inUse.values() ?? []) {
      if (used.policy.pods.matches(member.labels)) selecting.push(used);
      yield used.policy.podTerms;
    }
    subject.selection = this.#shared.selectionOf(selecting);
    yield* this.#groups.place(subject);
  }

  #removeSubject(key: string, subject: Subject): void {
    const { namespace } = subject.member;
    this.#subjects.delete(key);
    const inNamespace = this.#subjectsByNamespace.get(namespace);
    inNamespace?.delete(subject);
    if (inNamespace?.size === 0) this.#subjectsByNamespace.delete(namespace);
    this.#leave(subject);
    this.#groups.remove(subject);
    this.#touched.delete(subject);
    this.#book.remove(`member/${key}`);
  }

  /** Takes a pod out of what is looked up by its ports and its address. */
  #leave(subject: Subject): void {
    this.#namedPorts.removeSubject(subject);
    this.#holders.remove(subject);
    this.#touchOthers(subject);
  }

  *#setPolicy(key: string, object: NetworkPolicy | undefined): Work {
    const { namespace } = parseKey(key);
    const policies = this.#policies.get(namespace) ?? new NamespacePolicies(namespace);
    this.#policies.set(namespace, policies);
    const { isClosed } = policies;
    const omitted = policies.inUse.get(key)?.policy.omitted ?? 0;
    const replacements = policies.set(key, object);
    // A policy is read at once, however long it is.
    yield STEPS + (object === undefined ? 0 : READ_TERMS * writtenSize(object));
    for (const replacement of replacements) yield* this.#replace(namespace, replacement);
    if (policies.isEmpty) this.#policies.delete(namespace);
    const now = policies.inUse.get(key)?.policy.omitted ?? 0;
    if (now > 0 && now !== omitted) this.#options.onOmitted(key, now);
    if (policies.isClosed && !isClosed) this.#options.onClosed(namespace, key);
    if (!replacements.some((replacement) => leavesRoom(replacement))) return;
    for (const waiting of policies.waiting) if (waiting !== key) this.#retried.add(waiting);
  }

  *#replace(namespace: string, { key, before, after, used }: Replacement): Work {
    // What both have is not built anew.
    if (after !== undefined) yield* this.#acquire(after);
    if (before !== undefined) yield* this.#release(before);
    if (after === undefined) this.#book.remove(`policy/${key}`);
    else this.#book.put(`policy/${key}`, planPolicy(after));
    yield STEPS;
    // All pods that it selects are planned again: it may isolate them in another direction.
    for (const subject of this.#subjectsByNamespace.get(namespace) ?? []) {
      const wasSelected = subject.selection.has(used);
      const isSelected = after?.pods.matches(subject.member.labels) === true;
      if (isSelected !== wasSelected) subject.selection = this.#shared.toggle(subject.selection, used);
      if (isSelected || wasSelected) this.#touched.add(subject);
      yield (after?.podTerms ?? 0) + subject.selection.size;
    }
  }

  *#acquire(policy: Policy): Work {
    for (const group of groupsOf(policy)) {
      const onNew = () => this.#putSet(peersSet(group.id), 'type ipv4_addr;');
      yield* this.#groups.acquire(group, policy.namespace, onNew);
    }
    for (const port of namedPortsOf(policy)) yield* this.#namedPorts.acquire(port);
  }

  *#release(policy: Policy): Work {
    for (const group of groupsOf(policy)) {
      if (yield* this.#groups.release(group, policy.namespace)) this.#book.remove(`set/${peersSet(group.id)}`);
    }
    for (const port of namedPortsOf(policy)) yield* this.#namedPorts.release(port);
  }

  #putSet(set: string, definition: string): void {
    this.#book.put(`set/${set}`, { elements: [], chains: new Map(), sets: new Map([[set, definition]]) });
  }

  #write(key: string, fragment: Fragment): void {
    if (fragment.elements.length === 0) this.#book.remove(`member/${key}`);
    else this.#book.put(`member/${key}`, fragment);
  }
}

/** Which pods say that they have an address. It should be one; but a pod's address is reported by its Node's agent. */
class AddressHolders {
  readonly #holders = new Map<string, Set<Subject>>();

  add(subject: Subject): void {
    const { address } = subject.member;
    this.#holders.set(address, (this.#holders.get(address) ?? new Set()).add(subject));
  }

  /** Has to be called before the pod's address changes. */
  remove(subject: Subject): void {
    const { address } = subject.member;
    const holders = this.#holders.get(address);
    if (holders?.delete(subject) === true && holders.size === 0) this.#holders.delete(address);
  }

  /** All pods with the address. */
  of(address: string): ReadonlySet<Subject> {
    return this.#holders.get(address) ?? NO_SUBJECTS;
  }
}

const NO_SUBJECTS: ReadonlySet<Subject> = new Set();

/** Terms that are compared for the changed policies of one namespace before other namespaces and the rest of the table have their turn. */
const ROUND_TERMS = 1_000_000;

/** Each namespace's share of one round of work. */
class RoundShares {
  readonly #taken = new Map<string, number>();

  /** Does work for a namespace, unless that has had its share; returns whether it did. */
  *take(namespace: string, work: () => Work): Work<boolean> {
    let taken = this.#taken.get(namespace) ?? 0;
    if (taken >= ROUND_TERMS) return false;
    for (const done of work()) {
      taken += done;
      yield done;
    }
    this.#taken.set(namespace, taken);
    return true;
  }
}
