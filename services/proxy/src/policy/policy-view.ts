import { setImmediate as turn } from 'node:timers/promises';
import type { Clock } from '@gantry/base';
import type { InformerEvent } from '@gantry/controller-runtime';
import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  formatKey,
  keyOf,
  type KubeObject,
  NAMESPACES,
  NETWORK_POLICIES,
  type NetworkPolicy,
  PODS,
} from '@gantry/objects';
import type { Range } from '../rules/ipv4.ts';
import type { RuleBook } from '../rules/rule-book.ts';
import { DNS_NAMESPACE, DNS_SERVICE, dnsMembers, isSameMember, type Member, memberOf } from './member.ts';
import { type NamedPort, parsePolicy, type PeerGroup, type Policy } from './parse-policy.ts';
import { PeerGroups } from './peer-groups.ts';
import { namedPortSet, type NamedPortSet, peersSet, planPolicy } from './policy-chains.ts';
import { NO_POLICIES, planSubject, SharedSelections, type Subject, type UsedPolicy } from './subject.ts';

/** What the proxy's caches hold for policies. */
export const POLICY_RESOURCES = [NETWORK_POLICIES, NAMESPACES, PODS, ENDPOINT_SLICES];

/** Ranges that the policies of one namespace may have in all. */
export const MAX_NAMESPACE_RANGES = 50_000;
const SERVICE_NAME = 'kubernetes.io/service-name';
/** How long a turn of the event loop may take, and how many comparisons are made between two looks at the clock. */
const TURN_MS = 20;
const STEPS = 200;

export interface PolicyViewOptions {
  readonly podRange: Range;
  readonly podCidr: string;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** A policy of which some rules are left out, since it or its namespace has too many: what they allow stays closed. */
  readonly onOmitted: (policy: string, rules: number) => void;
  /** Some sets of peers lack pods, since the policies of a namespace name too many: these are not allowed. */
  readonly onShort: (sets: number) => void;
}

/**
 * Keeps the rule book in step with NetworkPolicies, pods and namespaces. Changes are only noted by `take`; `settle` works them off. A
 * change of a pod looks at the policies and peers that may concern its namespace, a change of a policy at the pods of its namespace.
 */
export class PolicyView {
  readonly #book: RuleBook;
  readonly #options: PolicyViewOptions;
  readonly #subjects = new Map<string, Subject>();
  readonly #subjectsByNamespace = new Map<string, Set<Subject>>();
  /** By namespace and key. */
  readonly #policies = new Map<string, Map<string, UsedPolicy & { object: NetworkPolicy }>>();
  readonly #groups: PeerGroups;
  /** Pods by the named ports that they have. */
  readonly #subjectsByPort = new Map<NamedPortSet, Set<Subject>>();
  /** How many rules look up each set of named ports. */
  readonly #namedPorts = new Map<NamedPortSet, number>();
  readonly #dnsSlices = new Map<string, EndpointSlice>();
  readonly #dnsKeys = new Set<string>();
  #short = 0;
  #shared = new SharedSelections();

  readonly #changedNamespaces = new Map<string, KubeObject | undefined>();
  readonly #changedPolicies = new Map<string, NetworkPolicy | undefined>();
  /** Policies whose namespace has room for what was left out of them. */
  readonly #retried = new Map<string, NetworkPolicy>();
  readonly #changedMembers = new Map<string, Member | undefined>();
  /** Pods whose part of the table may be another one. */
  readonly #touched = new Set<Subject>();

  constructor(book: RuleBook, options: PolicyViewOptions) {
    this.#book = book;
    this.#options = options;
    this.#groups = new PeerGroups(
      (namespace) => this.#subjectsByNamespace.get(namespace) ?? [],
      (subject) => this.#touched.add(subject),
    );
  }

  /** Takes what the caches report, in order. */
  take(event: InformerEvent): void {
    if (event.kind !== 'changed') return;
    for (const { object, old } of event.changes) {
      const subject = object ?? old;
      if (subject === undefined) continue;
      switch (event.resource.resource) {
        case NETWORK_POLICIES.resource:
          this.#changedPolicies.set(formatKey(keyOf(subject)), object);
          break;
        case NAMESPACES.resource:
          this.#changedNamespaces.set(subject.metadata.name ?? '', object);
          break;
        case PODS.resource:
          this.#changedMembers.set(
            `pod/${formatKey(keyOf(subject))}`,
            object === undefined ? undefined : memberOf(object),
          );
          break;
        case ENDPOINT_SLICES.resource:
          this.#takeSlice(subject, object as EndpointSlice | undefined);
          break;
      }
    }
  }

  /** Brings the rule book up to date. Gives other work of the process its turn in between. */
  async settle(signal: AbortSignal): Promise<void> {
    const { clock, onShort } = this.#options;
    let start = clock.monotonicMs();
    let steps = 0;
    for (const _ of this.#work()) {
      if (++steps % STEPS !== 0 || clock.monotonicMs() - start < TURN_MS) continue;
      await turn();
      signal.throwIfAborted();
      start = clock.monotonicMs();
    }
    const short = this.#groups.countShort();
    if (short > this.#short) onShort(short);
    this.#short = short;
  }

  /**
   * Namespaces and policies that change meanwhile wait for the next call, however often they change: what a tenant does to them delays the
   * isolation of new pods, and the rules of Services, by no more than one look at each. Pods that change meanwhile are worked off.
   */
  *#work(): Generator<void> {
    this.#shared = new SharedSelections();
    yield* this.#setMembers();
    for (const [name, object] of takeAll(this.#changedNamespaces)) {
      yield* this.#groups.setNamespace(name, object === undefined ? undefined : (object.metadata.labels ?? {}));
    }
    for (const [key, object] of takeAll(this.#changedPolicies)) yield* this.#setPolicy(key, object);
    for (const [key, object] of takeAll(this.#retried)) yield* this.#setPolicy(key, object);
    yield* this.#setMembers();
    const surroundings = {
      podRange: this.#options.podRange,
      podCidr: this.#options.podCidr,
      namedPorts: this.#namedPorts,
      shared: this.#shared,
    };
    for (const subject of this.#touched) {
      this.#touched.delete(subject);
      this.#write(subject.member.key, planSubject(subject, surroundings));
      yield;
    }
  }

  *#setMembers(): Generator<void> {
    for (const entry of this.#changedMembers) {
      this.#changedMembers.delete(entry[0]);
      yield* this.#setMember(...entry);
    }
  }

  #takeSlice({ metadata }: KubeObject, slice: EndpointSlice | undefined): void {
    if (metadata.namespace !== DNS_NAMESPACE) return;
    const name = metadata.name ?? '';
    if (slice?.metadata.labels?.[SERVICE_NAME] === DNS_SERVICE) this.#dnsSlices.set(name, slice);
    else if (!this.#dnsSlices.delete(name)) return;
    const members = dnsMembers(this.#dnsSlices.values());
    for (const key of this.#dnsKeys) this.#changedMembers.set(key, undefined);
    this.#dnsKeys.clear();
    for (const member of members) {
      this.#dnsKeys.add(member.key);
      this.#changedMembers.set(member.key, member);
    }
  }

  *#setMember(key: string, member: Member | undefined): Generator<void> {
    const known = this.#subjects.get(key);
    if (member === undefined) {
      if (known !== undefined) this.#removeSubject(key, known);
      return;
    }
    if (known !== undefined && isSameMember(known.member, member)) return;
    const subject: Subject = known ?? { member, selection: NO_POLICIES, groups: new Set() };
    this.#forgetPorts(subject);
    subject.member = member;
    for (const port of member.ports) {
      const set = namedPortSet(port);
      this.#subjectsByPort.set(set, (this.#subjectsByPort.get(set) ?? new Set()).add(subject));
    }
    if (known === undefined) {
      this.#subjects.set(key, subject);
      const inNamespace = this.#subjectsByNamespace.get(member.namespace) ?? new Set();
      this.#subjectsByNamespace.set(member.namespace, inNamespace.add(subject));
    }
    this.#touched.add(subject);
    for (const policy of this.#policies.get(member.namespace)?.values() ?? []) {
      this.#select(subject, policy);
      yield;
    }
    yield* this.#groups.place(subject);
  }

  #removeSubject(key: string, subject: Subject): void {
    const { namespace } = subject.member;
    this.#subjects.delete(key);
    const inNamespace = this.#subjectsByNamespace.get(namespace);
    inNamespace?.delete(subject);
    if (inNamespace?.size === 0) this.#subjectsByNamespace.delete(namespace);
    this.#forgetPorts(subject);
    this.#groups.remove(subject);
    this.#touched.delete(subject);
    this.#book.remove(`member/${key}`);
  }

  #forgetPorts(subject: Subject): void {
    for (const port of subject.member.ports) {
      const set = namedPortSet(port);
      const having = this.#subjectsByPort.get(set);
      if (having?.delete(subject) === true && having.size === 0) this.#subjectsByPort.delete(set);
    }
  }

  *#setPolicy(key: string, object: NetworkPolicy | undefined): Generator<void> {
    const namespace = key.slice(0, key.indexOf('/'));
    const policies = this.#policies.get(namespace) ?? new Map<string, UsedPolicy & { object: NetworkPolicy }>();
    const used = policies.get(key);
    const before = used?.policy;
    const after = object === undefined ? undefined : this.#parse(object, before);
    // What both have is not built anew.
    if (after !== undefined) yield* this.#acquire(after);
    if (before !== undefined) yield* this.#release(before);
    if (after === undefined || object === undefined) {
      if (used === undefined) return;
      policies.delete(key);
      this.#book.remove(`policy/${key}`);
    } else {
      const now = used ?? { policy: after, object };
      Object.assign(now, { policy: after, object });
      policies.set(key, now);
      this.#book.put(`policy/${key}`, planPolicy(after));
    }
    if (policies.size === 0) this.#policies.delete(namespace);
    else this.#policies.set(namespace, policies);
    yield* this.#selectSubjects(namespace, policies.get(key), used);
    if ((after?.ranges ?? 0) < (before?.ranges ?? 0)) this.#retryOmitted(key, policies);
  }

  /** Where a policy has changed, all pods that it selects are planned again: it may isolate them in another direction. */
  *#selectSubjects(namespace: string, now: UsedPolicy | undefined, before: UsedPolicy | undefined): Generator<void> {
    for (const subject of this.#subjectsByNamespace.get(namespace) ?? []) {
      const wasSelected = before !== undefined && subject.selection.has(before);
      if (now !== undefined) this.#select(subject, now);
      else if (before !== undefined && wasSelected) subject.selection = this.#shared.toggle(subject.selection, before);
      if (wasSelected || (now !== undefined && subject.selection.has(now))) this.#touched.add(subject);
      yield;
    }
  }

  #select(subject: Subject, used: UsedPolicy): void {
    const isSelected = used.policy.pods.matches(subject.member.labels);
    if (isSelected !== subject.selection.has(used)) subject.selection = this.#shared.toggle(subject.selection, used);
  }

  #parse(object: NetworkPolicy, before: Policy | undefined): Policy {
    let ranges = -(before?.ranges ?? 0);
    for (const { policy } of this.#policies.get(object.metadata.namespace ?? '')?.values() ?? [])
      ranges += policy.ranges;
    const policy = parsePolicy(object, MAX_NAMESPACE_RANGES - ranges);
    if (policy.omitted > 0 && policy.omitted !== before?.omitted) this.#options.onOmitted(policy.key, policy.omitted);
    return policy;
  }

  /** A namespace has room again for ranges that were left out. */
  #retryOmitted(key: string, policies: ReadonlyMap<string, UsedPolicy & { readonly object: NetworkPolicy }>): void {
    for (const [other, { policy, object }] of policies) {
      if (other !== key && policy.omitted > 0 && !this.#changedPolicies.has(other)) this.#retried.set(other, object);
    }
  }

  *#acquire(policy: Policy): Generator<void> {
    for (const group of groupsOf(policy)) {
      if (!(yield* this.#groups.acquire(group, policy.namespace))) continue;
      this.#putSet(peersSet(group.id), 'type ipv4_addr;');
    }
    for (const port of namedPortsOf(policy)) {
      const set = namedPortSet(port);
      const count = this.#namedPorts.get(set) ?? 0;
      this.#namedPorts.set(set, count + 1);
      if (count > 0) continue;
      this.#putSet(set, 'type ipv4_addr . inet_service;');
      yield* this.#touchPort(set);
    }
  }

  *#release(policy: Policy): Generator<void> {
    for (const group of groupsOf(policy)) {
      if (yield* this.#groups.release(group, policy.namespace)) this.#book.remove(`set/${peersSet(group.id)}`);
    }
    for (const port of namedPortsOf(policy)) {
      const set = namedPortSet(port);
      const count = (this.#namedPorts.get(set) ?? 1) - 1;
      this.#namedPorts.set(set, count);
      if (count > 0) continue;
      this.#namedPorts.delete(set);
      this.#book.remove(`set/${set}`);
      yield* this.#touchPort(set);
    }
  }

  *#touchPort(set: NamedPortSet): Generator<void> {
    yield;
    for (const subject of this.#subjectsByPort.get(set) ?? []) {
      this.#touched.add(subject);
      yield;
    }
  }

  #putSet(set: string, definition: string): void {
    this.#book.put(`set/${set}`, { elements: [], chains: new Map(), sets: new Map([[set, definition]]) });
  }

  #write(key: string, fragment: ReturnType<typeof planSubject>): void {
    if (fragment.elements.length === 0) this.#book.remove(`member/${key}`);
    else this.#book.put(`member/${key}`, fragment);
  }
}

function rulesOf({ ingress = [], egress = [] }: Policy) {
  return [...ingress, ...egress];
}

function groupsOf(policy: Policy): readonly PeerGroup[] {
  return rulesOf(policy).flatMap(({ peers }) => (peers === 'all' || peers.group === undefined ? [] : [peers.group]));
}

function namedPortsOf(policy: Policy): readonly NamedPort[] {
  return rulesOf(policy).flatMap(({ ports }) => (ports === 'all' ? [] : ports.named));
}

/** Takes all entries out at once. */
function takeAll<K, V>(map: Map<K, V>): readonly (readonly [K, V])[] {
  const entries = [...map];
  map.clear();
  return entries;
}
