import { apiVersionOf, type KubeObject, type Resource } from '@gantry/objects';
import { createDice, type Dice } from './dice.ts';
import { NODE_NAMES } from './nodes.ts';
import { type Content, SIMULATED_KINDS, type SimulatedKind } from './simulated-kinds.ts';

/** One thing that a user, or the fate of a node, does. */
export type Operation =
  | { readonly kind: 'create'; readonly of: SimulatedKind; readonly object: KubeObject }
  | { readonly kind: 'change'; readonly of: SimulatedKind; readonly object: KubeObject; readonly patch: object }
  | {
      readonly kind: 'delete';
      readonly of: SimulatedKind;
      readonly object: KubeObject;
      readonly propagation: 'Background' | 'Foreground' | 'Orphan';
    }
  | { readonly kind: 'lose-node' | 'restore-node'; readonly node: string }
  | { readonly kind: 'end-namespace'; readonly namespace: string };

/** A step of a history: what happens, and the pause before. */
export interface Step {
  readonly pauseMs: number;
  readonly operation: Operation;
}

/** Namespaces of the histories; the second one may be deleted and made again. */
const NAMESPACES: readonly string[] = ['default', 'n'];
const LEAST_STEPS = 6;
const MOST_STEPS = 16;
const PROPAGATIONS = ['Background', 'Background', 'Foreground', 'Orphan'] as const;

/** What users do in the run with this seed: the same with and without faults. */
export function createHistory(seed: number, controllers: readonly string[]): readonly Step[] {
  const writer = new HistoryWriter(createDice(seed, 'history'), kindsFor(controllers));
  return writer.write();
}

/** The kinds whose controllers are all there. */
export function kindsFor(controllers: readonly string[]): readonly SimulatedKind[] {
  return SIMULATED_KINDS.filter((kind) => kind.controllers.every((name) => controllers.includes(name)));
}

class HistoryWriter {
  readonly #dice: Dice;
  readonly #kinds: readonly SimulatedKind[];
  readonly #steps: Step[] = [];
  /** Objects as users know them, by resource, namespace and name. */
  readonly #known = new Map<string, { readonly of: SimulatedKind; readonly object: KubeObject }>();
  #lost: string | undefined;

  constructor(dice: Dice, kinds: readonly SimulatedKind[]) {
    this.#dice = dice;
    // Few kinds at a time, so that a history does much with each.
    this.#kinds = kinds.filter((kind, index) => index === 0 || dice.chance(0.5) || kind === undefined);
  }

  write(): readonly Step[] {
    const dice = this.#dice;
    const count = dice.between(LEAST_STEPS, MOST_STEPS);
    for (let i = 0; i < count; i++) {
      if (dice.chance(0.06)) this.#turnNode();
      else if (dice.chance(0.04)) this.#endNamespace();
      else this.#touch();
    }
    this.#comeToRest();
    return this.#steps;
  }

  #add(operation: Operation): void {
    const pauseMs = this.#dice.chance(0.4) ? 0 : this.#dice.between(1, 15_000);
    this.#steps.push({ pauseMs, operation });
  }

  /** Creates, changes or deletes an object. */
  #touch(): void {
    const dice = this.#dice;
    const of = dice.pick(this.#kinds);
    const namespace = of.resource.namespaced ? dice.pick(NAMESPACES) : '';
    const name = `${of.resource.kind.toLowerCase()}-${dice.between(1, of.objects)}`;
    const id = `${of.resource.resource}/${namespace}/${name}`;
    const known = this.#known.get(id)?.object;
    if (known === undefined) {
      const object = objectOf(of.resource, namespace, name, of.create(dice, name));
      this.#known.set(id, { of, object });
      this.#add({ kind: 'create', of, object });
    } else if (dice.chance(0.75) && of.changes.length > 0) this.#change(id, of, known);
    else {
      this.#known.delete(id);
      this.#restoreNode();
      this.#add({ kind: 'delete', of, object: known, propagation: dice.pick(PROPAGATIONS) });
    }
  }

  #change(id: string, of: SimulatedKind, object: KubeObject, patch = this.#dice.pick(of.changes)(this.#dice, object)) {
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

  /** What is deleted waits for pods on a lost node until it is back. */
  #restoreNode(): void {
    if (this.#lost !== undefined) this.#add({ kind: 'restore-node', node: this.#lost });
    this.#lost = undefined;
  }

  #endNamespace(): void {
    const namespace = 'n';
    this.#restoreNode();
    for (const id of [...this.#known.keys()]) if (id.split('/')[1] === namespace) this.#known.delete(id);
    this.#add({ kind: 'end-namespace', namespace });
  }

  /** At the end all nodes are there, and no object waits for a user. */
  #comeToRest(): void {
    this.#restoreNode();
    for (const [id, { of, object }] of [...this.#known]) {
      if (of.repair !== undefined) this.#change(id, of, object, of.repair(object));
    }
  }
}

function objectOf(resource: Resource, namespace: string, name: string, { metadata, ...content }: Content): KubeObject {
  const place = namespace === '' ? {} : { namespace };
  return { apiVersion: apiVersionOf(resource), kind: resource.kind, metadata: { name, ...place, ...metadata }, ...content };
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
