import { formatKey, keyOf, type Pod } from '@gantry/objects';
import { hostPortOwner, hostPortTargets, planHostPorts } from './rules/host-ports.ts';
import type { RuleBook } from './rules/rule-book.ts';
import type { Topology } from './rules/topology.ts';

/** Keeps the rule book up to date with the host ports of pods. A pod without host ports costs only one look at its containers. */
export class HostPortView {
  readonly #book: RuleBook;
  /** Pods that have host ports, by key. */
  readonly #pods = new Map<string, Pod>();
  readonly #changed = new Set<string>();
  /** The owner of a pod's rules and the pod's UDP addresses, for removing them. */
  readonly #written = new Map<string, { readonly owner: string; readonly flows: readonly string[] }>();

  constructor(book: RuleBook) {
    this.#book = book;
  }

  take(object: Pod | undefined, old: Pod | undefined): void {
    const pod = object ?? old;
    if (pod === undefined) return;
    const key = formatKey(keyOf(pod));
    if (object !== undefined && hasHostPorts(object)) this.#pods.set(key, object);
    else if (!this.#pods.delete(key)) return;
    this.#changed.add(key);
  }

  /** Plans all pods again, because the Nodes of the host have changed. */
  takeNodes(): void {
    for (const key of this.#pods.keys()) this.#changed.add(key);
  }

  /** Plans the changes since the last call. Adds to `flows` the UDP addresses whose clients have to choose a new endpoint. */
  update(topology: Topology, flows: Map<string, ReadonlySet<string>>): void {
    for (const key of this.#changed) this.#take(key, topology, flows);
    this.#changed.clear();
  }

  #take(key: string, topology: Topology, flows: Map<string, ReadonlySet<string>>): void {
    const pod = this.#pods.get(key);
    const node = topology.nodes.get(pod?.spec?.nodeName ?? '');
    const before = this.#written.get(key);
    const owner = pod === undefined ? '' : hostPortOwner(pod);
    for (const address of before?.flows ?? []) flows.set(address, new Set());
    // A pod that was created again under the same name has another owner.
    if (before !== undefined && before.owner !== owner) this.#book.remove(before.owner);
    this.#written.delete(key);
    if (pod === undefined || node === undefined) {
      if (before !== undefined) this.#book.remove(before.owner);
      return;
    }
    const targets = hostPortTargets(pod, node, topology);
    for (const [address, endpoints] of targets) flows.set(address, endpoints);
    this.#book.put(owner, planHostPorts(pod, node, topology));
    this.#written.set(key, { owner, flows: [...targets.keys()] });
  }
}

function hasHostPorts({ spec }: Pod): boolean {
  if (spec === undefined || spec.hostNetwork === true) return false;
  return [...spec.containers, ...(spec.initContainers ?? [])].some(
    ({ ports }) => ports?.some(({ hostPort }) => (hostPort ?? 0) > 0) === true,
  );
}
