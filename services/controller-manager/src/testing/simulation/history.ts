import type { KubeObject } from '@gantry/objects';
import { createDice, type Dice } from '@gantry/controller-runtime/testing';
import { NODE_NAMES } from './nodes.ts';
import { objectOf, type Operation, type Step } from './operation.ts';
import { sharedDependents } from './shared-dependents.ts';
import { nameOfKind, type SimulatedKind } from './simulated-kind.ts';
import { SIMULATED_KINDS } from './simulated-kinds.ts';

/** The namespaces of the histories. The second one may be deleted and created again. */
const NAMESPACES: readonly string[] = ['default', 'n'];
const LEAST_STEPS = 6;
const MOST_STEPS = 18;
const PROPAGATIONS = ['Background', 'Background', 'Foreground', 'Orphan'] as const;

/** Creates the history of a seed: what users do. It is the same with and without faults. */
export function createHistory(seed: number, controllers: readonly string[]): readonly Step[] {
  const sharing = createDice(seed, 'shared dependents');
  const writer = new HistoryWriter(createDice(seed, 'history'), sharing, kindsFor(controllers));
  return writer.write();
}

/** The kinds whose controllers are all in the list. */
export function kindsFor(controllers: readonly string[]): readonly SimulatedKind[] {
  return SIMULATED_KINDS.filter((kind) => kind.controllers.every((name) => controllers.includes(name)));
}

class HistoryWriter {
  readonly #dice: Dice;
  /** The dice for objects with two owners. */
  readonly #sharing: Dice;
  #shares = 0;
  readonly #kinds: readonly SimulatedKind[];
  readonly #steps: Step[] = [];
  /** The objects as users know them. The ids consist of resource, namespace and name. */
  readonly #known = new Map<string, { readonly of: SimulatedKind; readonly object: KubeObject }>();
  /** The owners of objects, by the same ids. */
  readonly #owners = new Map<string, Set<string>>();
  /** The ids of deleted objects. */
  readonly #freed = new Set<string>();
  #lost: string | undefined;

  constructor(dice: Dice, sharing: Dice, kinds: readonly SimulatedKind[]) {
    this.#dice = dice;
    this.#sharing = sharing;
    // A history has only a few kinds, so that it does much with each of them.
    const names = [...new Set(kinds.map(nameOfKind))];
    const taken = new Set(names.filter((_name, index) => index === 0 || dice.chance(0.4)));
    this.#kinds = kinds.filter((kind) => taken.has(nameOfKind(kind)));
  }

  write(): readonly Step[] {
    const dice = this.#dice;
    const count = dice.between(LEAST_STEPS, MOST_STEPS);
    for (let i = 0; i < count; i++) {
      if (dice.chance(0.06)) this.#turnNode();
      else if (dice.chance(0.04)) this.#endNamespace();
      else if (dice.chance(0.06)) this.#evict();
      else this.#touch();
      if (this.#sharing.chance(0.08)) this.#share();
    }
    this.#comeToRest();
    return this.#steps;
  }

  #add(operation: Operation): void {
    const pauseMs = this.#dice.chance(0.4) ? 0 : this.#dice.between(1, 15_000);
    this.#steps.push({ pauseMs, operation });
  }

  /** Creates objects with two owners and deletes one of the owners, before anything else is done. */
  #share(): void {
    const dice = this.#sharing;
    this.#shares += 1;
    for (const operation of sharedDependents(dice, dice.pick(NAMESPACES), `shared-${this.#shares}`)) {
      this.#steps.push({ pauseMs: dice.chance(0.5) ? 0 : dice.between(1, 3000), operation });
    }
  }

  /** Creates, changes or deletes an object. */
  #touch(): void {
    const dice = this.#dice;
    const of = dice.pick(this.#kinds);
    const namespace = of.resource.namespaced ? dice.pick(NAMESPACES) : '';
    const name = `${nameOfKind(of)}-${dice.between(1, of.objects)}`;
    const id = `${of.resource.resource}/${namespace}/${name}`;
    const known = this.#known.get(id)?.object;
    if (known === undefined) {
      // A name can be used again only when the pods of the object that had it are gone, which needs their node.
      if (this.#freed.has(id)) this.#restoreNode();
      const object = objectOf(of.resource, namespace, name, of.create(dice, name, namespace));
      this.#known.set(id, { of, object });
      this.#add({ kind: 'create', of, object });
    } else if (of.owns === true && dice.chance(0.6)) this.#own(id, of, known);
    else if (of.stays === true || dice.chance(0.75)) this.#change(id, of, known);
    else {
      const chosen = dice.pick(PROPAGATIONS);
      const propagation = of.leavesOrphans === false && chosen === 'Orphan' ? 'Background' : chosen;
      this.#forget(id, propagation);
      this.#restoreNode();
      this.#add({ kind: 'delete', of, object: known, propagation });
    }
  }

  /** Makes another object of the kind an owner of this one, unless that would form a cycle. */
  #own(id: string, of: SimulatedKind, object: KubeObject): void {
    const others = [...this.#known.keys()].filter((other) => {
      const [resource, namespace] = other.split('/');
      return id.startsWith(`${resource}/${namespace}/`) && !this.#reaches(other, id);
    });
    if (others.length === 0) return;
    const owner = this.#dice.pick(others);
    const owners = this.#owners.get(id) ?? new Set<string>();
    if (owners.has(owner)) return;
    this.#owners.set(id, owners.add(owner));
    const name = owner.split('/')[2] ?? '';
    this.#add({ kind: 'own', of, object, owner: { resource: of.resource, name, blocks: false } });
  }

  /** Whether `to` is `from` or one of its direct or indirect owners. */
  #reaches(from: string, to: string): boolean {
    return from === to || [...(this.#owners.get(from) ?? [])].some((owner) => this.#reaches(owner, to));
  }

  /** Forgets an object. An object that loses its last owner is deleted as well, unless it was orphaned. */
  #forget(id: string, propagation: 'Background' | 'Foreground' | 'Orphan'): void {
    this.#known.delete(id);
    this.#freed.add(id);
    this.#owners.delete(id);
    for (const [dependent, owners] of [...this.#owners]) {
      if (!owners.delete(id) || owners.size > 0) continue;
      this.#owners.delete(dependent);
      if (propagation !== 'Orphan') this.#forget(dependent, 'Background');
    }
  }

  #evict(): void {
    const deployments = [...this.#known.keys()].filter((id) => id.startsWith('deployments/'));
    if (deployments.length === 0) return;
    const [, namespace = '', app = ''] = this.#dice.pick(deployments).split('/');
    this.#add({ kind: 'evict', namespace, app });
  }

  #change(id: string, of: SimulatedKind, object: KubeObject, patch = this.#dice.pick(of.changes)(this.#dice, object)) {
    // A Deployment that waits for the pods of its old template also waits for those on a lost node.
    if ((object as { spec?: { strategy?: { type?: string } } }).spec?.strategy?.type === 'Recreate')
      this.#restoreNode();
    this.#known.set(id, { of, object: merge(object, patch) as KubeObject });
    this.#add({ kind: 'change', of, object, patch });
  }

  #turnNode(): void {
    if (this.#lost !== undefined) {
      this.#restoreNode();
      return;
    }
    this.#lost = this.#dice.pick(NODE_NAMES);
    this.#add({ kind: 'lose-node', node: this.#lost });
  }

  /** Brings the lost node back: deleted objects wait for their pods on it. */
  #restoreNode(): void {
    if (this.#lost !== undefined) this.#add({ kind: 'restore-node', node: this.#lost });
    this.#lost = undefined;
  }

  #endNamespace(): void {
    const namespace = 'n';
    this.#restoreNode();
    for (const id of [...this.#known.keys()]) if (id.split('/')[1] === namespace) this.#forget(id, 'Background');
    this.#add({ kind: 'end-namespace', namespace });
  }

  /** Ends the history so that all nodes are present and no object waits for a user. */
  #comeToRest(): void {
    this.#restoreNode();
    for (const [id, { of, object }] of [...this.#known]) {
      if (of.repair !== undefined) this.#change(id, of, object, of.repair(object));
    }
  }
}

/** A JSON merge patch (RFC 7386). */
function merge(target: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> = target !== null && typeof target === 'object' ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  }
  return result;
}
