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

/** The resources in the proxy's caches that policies need. */
export const POLICY_RESOURCES = [NETWORK_POLICIES, NAMESPACES, NODES, PODS, ENDPOINT_SLICES];

/** How long a turn of the event loop may take in milliseconds, and how many terms are compared between two looks at the clock. */
const TURN_MS = 20;
const STEPS = 200;
/** Reading one entry of a policy takes about as long as this number of label comparisons. */
const READ_TERMS = 10;

/** The settings of the view, and the listener for its reports. */
export interface PolicyViewOptions extends PolicyReports {
  readonly podRange: AddressRange;
  readonly podCidr: string;
  readonly reach: HostReach;
  readonly clock: Pick<Clock, 'monotonicMs'>;
}

/** Reports what exceeds the bounds. */
export interface PolicyReports {
  /** Some rules of a policy are omitted, because it or its namespace has too many. The traffic that they allow stays closed. */
  readonly onOmitted: (policy: string, rules: number) => void;
  /** A namespace has no room for one of its policies. All of its pods are isolated. */
  readonly onClosed: (namespace: string, policy: string) => void;
  /** Some sets of peers lack pods, because the policies of a namespace select too many. The missing pods are not allowed. */
  readonly onShort: (sets: number) => void;
  /** Too many policies select a pod of the namespace. The traffic that some of them allow stays closed for the pod. */
  readonly onCrowded: (namespace: string) => void;
}

/**
 * Keeps the rule book up to date with NetworkPolicies, pods and namespaces. `take` only notes changes; `synchronize` processes them. A
 * changed pod is compared with the policies and peers that may concern its namespace. A changed policy is compared with the pods of its
 * namespace.
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

  /** Changed policies that wait for their namespace's next share. The longest waiting policy comes first. */
  #late = new Map<string, NetworkPolicy | undefined>();
  /** Policies that `catchUp` has not processed yet. */
  readonly #due = new Set<string>();
  /** Policies with omitted rules whose namespace has room again. */
  readonly #retried = new Set<string>();
  /** Pods whose part of the table may have changed. */
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

  /** Takes the events of the caches, in order. */
  take(event: InformerEvent): void {
    this.#changes.take(event);
  }

  /**
   * Brings the rule book up to date. Lets other work of the process run in between. Returns false if policies of some namespaces wait for
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
   * Runs rounds until all policies that were known at the call are processed, whatever changes meanwhile. Rules that were written earlier
   * would open pods that these policies isolate. Returns false in the same case as `synchronize`.
   */
  async catchUp(signal: AbortSignal): Promise<boolean> {
    for (const key of this.#changes.policies.keys()) this.#due.add(key);
    for (;;) {
      const isDone = await this.synchronize(signal);
      if (this.#due.size === 0) return isDone;
    }
  }

  /**
   * Namespaces and policies that change meanwhile wait for the next call. So do the policies of a namespace that has used its share. So a
   * tenant's changes delay the isolation of new pods and the rules of Services by at most one share and one policy. Pods that change
   * meanwhile are processed once more.
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

  /** The isolation of an address depends on all pods that have it. */
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
    // A waiting key keeps its place.
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

  /** Removes a pod from the look-ups by port and by address. */
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
    // A policy is read in one step, however long it is.
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
    // The new policy comes first, so shared groups and ports are not built again.
    if (after !== undefined) yield* this.#acquire(after);
    if (before !== undefined) yield* this.#release(before);
    if (after === undefined) this.#book.remove(`policy/${key}`);
    else this.#book.put(`policy/${key}`, planPolicy(after));
    yield STEPS;
    // All selected pods are planned again, because the policy may now isolate them in another direction.
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

/** The pods that report an address. There should be only one, but the agent of a pod's Node reports the address. */
class AddressHolders {
  readonly #holders = new Map<string, Set<Subject>>();

  add(subject: Subject): void {
    const { address } = subject.member;
    this.#holders.set(address, (this.#holders.get(address) ?? new Set()).add(subject));
  }

  /** Must be called before the pod's address changes. */
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

/** The number of terms that one namespace's changed policies may use before other namespaces and the rest of the table get their turn. */
const ROUND_TERMS = 1_000_000;

/** The share of each namespace in one round of work. */
class RoundShares {
  readonly #taken = new Map<string, number>();

  /** Does work for a namespace, unless it has used its share. Returns whether the work was done. */
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
