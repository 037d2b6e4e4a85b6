import { CONFIG_MAPS, DEPLOYMENTS, type KubeObject, REPLICA_SETS, type Resource } from '@gantry/objects';
import type { Dice } from './dice.ts';
import { POD_FATE } from './nodes.ts';

/** What users do with the objects of one kind. A new kind is one entry of `SIMULATED_KINDS`. */
export interface SimulatedKind {
  readonly resource: Resource;
  /** The controllers without which the kind takes part in no history. */
  readonly controllers: readonly string[];
  /** How many objects there are at most at a time, in each namespace. */
  readonly objects: number;
  /** Everything but `apiVersion`, `kind`, and the name and namespace in `metadata`. */
  readonly create: (dice: Dice, name: string) => Content;
  /** Merge patches: scale, update, roll back, pause. Each is given the object as users know it. */
  readonly changes: readonly ((dice: Dice, object: KubeObject) => object)[];
  /** Merge patches after which the object comes to rest: at the end of a history. */
  readonly repair?: (object: KubeObject) => object;
  /** Whether a change waits until the status has observed the one before: an unobserved state may leave no trace. */
  readonly waits: 'until-observed' | 'not';
}

/** An object without its type and name. */
export type Content = Record<string, unknown> & { readonly metadata?: Record<string, unknown> };

const IMAGES = ['example.org/app:1', 'example.org/app:2', 'example.org/app:3'];
/** Its pods do not become ready. */
const BROKEN = 'example.org/app:broken';

const REPLICAS = [0, 1, 2, 3, 5];

/** A pod template; pods of the broken image never become ready. */
function template(app: string, image: string, rest: object = {}) {
  const annotations = { [POD_FATE.ready]: image === BROKEN ? 'never' : 'soon' };
  return { metadata: { labels: { app }, annotations }, spec: { containers: [{ name: 'c', image }], ...rest } };
}

/** The merge patch that brings another image, and with it the pods' fate. */
function imagePatch(app: string, image: string): object {
  return { spec: { template: template(app, image) } };
}

const anyImage = (dice: Dice): string => (dice.chance(0.15) ? BROKEN : dice.pick(IMAGES));
const scale = (dice: Dice): object => ({ spec: { replicas: dice.pick(REPLICAS) } });
const update = (dice: Dice, { metadata: { name = '' } }: KubeObject): object => imagePatch(name, anyImage(dice));

const mend = (object: KubeObject): object => {
  const { name = '' } = object.metadata;
  return { spec: { paused: false, ...(imagePatch(name, IMAGES[0] ?? '') as { spec: object }).spec } };
};

const selector = (app: string) => ({ matchLabels: { app } });

/** What the histories are made of. */
export const SIMULATED_KINDS: readonly SimulatedKind[] = [
  {
    resource: DEPLOYMENTS,
    controllers: ['deployment', 'replica-set', 'garbage-collector'],
    objects: 2,
    create: (dice, name) => ({
      spec: {
        replicas: dice.pick(REPLICAS),
        selector: selector(name),
        template: template(name, dice.pick(IMAGES)),
        strategy: strategy(dice),
        revisionHistoryLimit: dice.pick([0, 1, 2, 10]),
        minReadySeconds: dice.pick([0, 0, 2]),
      },
    }),
    changes: [
      scale,
      update,
      update,
      (dice) => ({ spec: { strategy: strategy(dice) } }),
      (dice) => ({ spec: { paused: dice.chance(0.5) } }),
      (dice) => ({ spec: { minReadySeconds: dice.pick([0, 1, 3]) } }),
    ],
    repair: mend,
    waits: 'until-observed',
  },
  {
    resource: REPLICA_SETS,
    controllers: ['replica-set', 'garbage-collector'],
    objects: 1,
    create: (dice, name) => ({
      spec: { replicas: dice.pick(REPLICAS), selector: selector(name), template: template(name, dice.pick(IMAGES)) },
    }),
    changes: [scale],
    waits: 'not',
  },
  {
    resource: CONFIG_MAPS,
    controllers: ['garbage-collector'],
    objects: 3,
    create: (dice) => ({ data: { value: String(dice.between(1, 9)) } }),
    changes: [(dice) => ({ data: { value: String(dice.between(1, 9)) } })],
    waits: 'not',
  },
];

function strategy(dice: Dice): object {
  if (dice.chance(0.2)) return { type: 'Recreate', rollingUpdate: null };
  const maxSurge = dice.pick([0, 1, 2, '25%', '50%']);
  const maxUnavailable = maxSurge === 0 ? dice.pick([1, 2, '50%']) : dice.pick([0, 1, '25%', '50%']);
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
}
