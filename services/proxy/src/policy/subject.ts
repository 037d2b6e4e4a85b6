import { isWithin, type AddressRange } from '@gantry/objects';
import { type Element, EMPTY, type Fragment } from '../rules/fragment.ts';
import type { Member } from './member.ts';
import type { PeerGroup, Policy } from './parse-policy.ts';
import {
  closedChain,
  type Direction,
  type IsolationChain,
  isolationChain,
  namedPortSet,
  type NamedPortSet,
  peersSet,
} from './policy-chains.ts';

/** A policy in use. The object stays the same while the policy's specification changes. */
export interface UsedPolicy {
  policy: Policy;
}

/** The policies that select a pod. Immutable. Pods that the same policies select usually share one object. */
export type Selection = ReadonlySet<UsedPolicy>;

/** The selection of a pod that no policy selects. */
export const NO_POLICIES: Selection = new Set();

/** A pod with its policies and peer groups. */
export interface Subject {
  member: Member;
  selection: Selection;
  /** The peer groups that the pod belongs to. */
  readonly groups: Set<UsedGroup>;
}

/** Peers that rules select, with the pods that belong to them. */
export interface UsedGroup extends PeerGroup {
  readonly members: Set<Subject>;
  /** The number of rules that use the group, by the namespace of their policies. */
  readonly users: Map<string, number>;
  /** The namespace whose bound the members count against. */
  countedTo: string;
  /** Whether pods are missing because there is no room. */
  isShort: boolean;
}

/**
 * The results that many pods share during one round of changes, so that they are computed once: selections with one policy more or less,
 * and the chains of a selection.
 */
export class SharedSelections {
  readonly #others = new Map<Selection, Map<UsedPolicy, Selection>>();
  readonly #numbers = new Map<UsedPolicy, number>();
  readonly #selections = new Map<string, Selection>([['', NO_POLICIES]]);
  /** The namespaces of pods that too many policies select. */
  readonly crowded = new Set<string>();
  readonly #chains = new Map<Selection, Readonly<Record<Direction, IsolationChain | undefined>>>();

  /** Returns the selection of these policies. The same policies in another order give another selection. */
  selectionOf(policies: readonly UsedPolicy[]): Selection {
    const numbers = policies.map((policy) => {
      const number = this.#numbers.get(policy) ?? this.#numbers.size;
      this.#numbers.set(policy, number);
      return number;
    });
    const key = numbers.join();
    const selection = this.#selections.get(key) ?? new Set(policies);
    this.#selections.set(key, selection);
    return selection;
  }

  /** Returns the selection with the policy added, or removed if the selection has it. */
  toggle(selection: Selection, policy: UsedPolicy): Selection {
    const others = this.#others.get(selection) ?? new Map<UsedPolicy, Selection>();
    this.#others.set(selection, others);
    const known = others.get(policy);
    if (known !== undefined) return known;
    const made = new Set(selection);
    if (!made.delete(policy)) made.add(policy);
    others.set(policy, made);
    return made;
  }

  /** Returns the chains of pods with this selection. A chain is undefined if they are not isolated in that direction. */
  chainsOf(selection: Selection): Readonly<Record<Direction, IsolationChain | undefined>> {
    const known = this.#chains.get(selection);
    if (known !== undefined) return known;
    const chain = (direction: Direction) => {
      const isolating = [...selection].map(({ policy }) => policy).filter((policy) => policy[direction] !== undefined);
      const [first] = isolating;
      if (first === undefined) return undefined;
      const made = isolationChain(isolating, direction);
      if (made.omitted > 0) this.crowded.add(first.namespace);
      return made;
    };
    const chains = { ingress: chain('ingress'), egress: chain('egress') };
    this.#chains.set(selection, chains);
    return chains;
  }
}

/** The other inputs of the table's parts for pods. */
export interface SubjectSurroundings {
  /** The addresses of this host's pods. Only these are isolated here. */
  readonly podRange: AddressRange;
  /** The sets of named ports that rules look up. */
  readonly namedPorts: { has(set: NamedPortSet): boolean };
  readonly nodes: PodPlaces & { addressesOf(node: string): readonly string[] };
  readonly shared: SharedSelections;
}

/** The addresses that pods of Nodes can have. */
interface PodPlaces {
  canHave(node: string, address: string): boolean;
}

/**
 * Returns the table's part for one pod: its elements in the sets of peers and named ports, and the isolation of its address. If the pod's
 * agent reports an address of another host, the pod is no peer at that address.
 */
export function planSubject(
  { member, groups }: Subject,
  isolation: Fragment,
  surroundings: PeerSurroundings,
): Fragment {
  const { address } = member;
  const { namedPorts, nodes } = surroundings;
  if (!nodes.canHave(member.node, address)) return isolation;
  const elements: Element[] = [...groups].map(({ id }) => ({ container: peersSet(id), key: address, value: '' }));
  for (const port of member.ports) {
    const container = namedPortSet(port);
    if (namedPorts.has(container)) elements.push({ container, key: `${address} . ${port.number}`, value: '' });
  }
  return { ...isolation, elements: [...elements, ...isolation.elements] };
}

type PeerSurroundings = Pick<SubjectSurroundings, 'namedPorts'> & { readonly nodes: PodPlaces };

/**
 * Returns the isolation of an address. It is the same for all pods that report the address. If several pods report it, none gets more
 * open than it would be alone: if their chains differ, the address is closed, and a Node reaches it only if all of the pods are bound to
 * that Node. Pods of other hosts do not count.
 */
export function planIsolation(
  address: string,
  subjects: Iterable<Subject>,
  { podRange, nodes, shared }: SubjectSurroundings,
): Fragment {
  if (!isWithin(podRange, address)) return EMPTY;
  const reported = [...subjects];
  const own = reported.filter(({ member }) => nodes.canHave(member.node, address));
  // If no pod is of this host by its Node's range, the range is from before the host's range was changed. The pods stay isolated.
  const holders = own.length > 0 ? own : reported;
  const elements: Element[] = [];
  const chains = new Map<string, readonly string[]>();
  for (const direction of ['ingress', 'egress'] as const) {
    const wanted = new Map(
      holders.flatMap(({ selection }) => {
        const chain = shared.chainsOf(selection)[direction];
        return chain === undefined ? [] : [[chain.name, chain] as const];
      }),
    );
    const [chain] = wanted.size > 1 ? [closedChain(direction)] : wanted.values();
    if (chain === undefined) continue;
    chains.set(chain.name, chain.rules);
    elements.push({ container: `${direction}-isolated`, key: address, value: `goto ${chain.name}` });
  }
  if (elements.length === 0) return EMPTY;
  // A pod always reaches itself. The pod and its Node's agent reach each other, because the agent probes it from its container's address.
  const open = new Set([`${address} . ${address}`]);
  for (const other of commonTo(holders.map(({ member }) => nodes.addressesOf(member.node)))) {
    open.add(`${other} . ${address}`).add(`${address} . ${other}`);
  }
  for (const key of open) elements.push({ container: 'always-open', key, value: '' });
  return { elements, chains, sets: new Map() };
}

function commonTo([first = [], ...others]: readonly (readonly string[])[]): readonly string[] {
  return first.filter((address) => others.every((list) => list.includes(address)));
}
