import { CONFIG_MAPS, SECRETS } from '@gantry/objects';
import type { Dice } from '@gantry/controller-runtime/testing';
import { type NamedOwner, objectOf, type Operation } from './operation.ts';
import type { SimulatedKind } from './simulated-kind.ts';

type Creation = Extract<Operation, { kind: 'create' }>;
type Propagation = Extract<Operation, { kind: 'delete' }>['propagation'];

/**
 * Kinds that no controller but the garbage collector deletes. There are two of them, because the controller sees different resources at
 * different times.
 */
const KINDS: readonly SimulatedKind[] = [CONFIG_MAPS, SECRETS].map((resource) => ({
  resource,
  controllers: ['garbage-collector'],
  objects: 1,
  create: () => ({ data: {} }),
  changes: [],
  waits: 'not',
}));

/**
 * Creates an object with two owners, and deletes the first owner, usually in the foreground, directly or through an owner of its own. The
 * second owner may be added just before, so that a controller may see the deletion first. The object and its own dependents survive because
 * of the second owner, unless that one is deleted too. The deletion never orphans: it would be random whether the object has released the
 * first owner by then.
 */
export function sharedDependents(dice: Dice, namespace: string, name: string): readonly Operation[] {
  const make = (suffix: string, owners: readonly NamedOwner[] = []): Creation => {
    const of = dice.pick(KINDS);
    const content = of.create(dice, name, namespace);
    return { kind: 'create', of, object: objectOf(of.resource, namespace, `${name}${suffix}`, content), owners };
  };
  const root = make('-root');
  const hasRoot = dice.chance(0.3);
  const first = make('-first', hasRoot ? [ownerIn(root, dice.chance(0.5))] : []);
  const second = make('-second');
  const [former, latter] = [ownerIn(first, dice.chance(0.8)), ownerIn(second, dice.chance(0.5))];
  const isAdded = dice.chance(0.4);
  const shared = make('', isAdded ? [former] : [former, latter]);
  const { of, object } = shared;
  const below = make('-below', [ownerIn(shared, dice.chance(0.5))]);
  return [
    ...(hasRoot ? [root] : []),
    first,
    second,
    shared,
    ...(dice.chance(0.4) ? [below] : []),
    ...(isAdded ? [{ kind: 'own', of, object, owner: latter } as const] : []),
    deletionOf(hasRoot ? root : first, dice.pick(['Foreground', 'Foreground', 'Background'])),
    ...(dice.chance(0.3) ? [deletionOf(second, dice.pick(['Background', 'Foreground']))] : []),
  ];
}

function ownerIn({ of, object }: Creation, blocks: boolean): NamedOwner {
  return { resource: of.resource, name: object.metadata.name ?? '', blocks };
}

function deletionOf({ of, object }: Creation, propagation: Propagation): Operation {
  return { kind: 'delete', of, object, propagation };
}
