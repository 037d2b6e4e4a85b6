import {
  CONFIG_MAPS,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  type KubeObject,
  POD_DISRUPTION_BUDGETS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  type Resource,
  RESOURCE_QUOTAS,
  STATEFUL_SETS,
} from '@gantry/objects';
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
  /** Set where what an orphaning deletion leaves depends on its moment. */
  readonly leavesOrphans?: false;
  /** Whether users make objects of this kind owners of each other. */
  readonly owns?: true;
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
    waits: 'until-observed',
  },
  {
    resource: REPLICATION_CONTROLLERS,
    controllers: ['replication', 'garbage-collector'],
    objects: 1,
    create: (dice, name) => ({
      spec: { replicas: dice.pick(REPLICAS), selector: { app: name }, template: template(name, dice.pick(IMAGES)) },
    }),
    changes: [scale],
    waits: 'until-observed',
  },
  {
    resource: STATEFUL_SETS,
    controllers: ['stateful-set', 'garbage-collector'],
    objects: 2,
    create: (dice, name) => ({
      spec: {
        replicas: dice.pick(REPLICAS),
        serviceName: name,
        selector: selector(name),
        template: template(name, dice.pick(IMAGES)),
        podManagementPolicy: dice.pick(['OrderedReady', 'OrderedReady', 'Parallel']),
        updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: dice.pick([0, 0, 1]) } },
        minReadySeconds: dice.pick([0, 0, 2]),
      },
    }),
    // An ordered set waits for ever for a pod that does not become ready: its images are good.
    changes: [
      scale,
      (dice, { metadata: { name = '' } }) => imagePatch(name, dice.pick(IMAGES)),
      (dice) => ({ spec: { updateStrategy: { rollingUpdate: { partition: dice.pick([0, 1, 2]) } } } }),
    ],
    repair: (object) => {
      const { spec } = mend(object) as { spec: { template: object } };
      return { spec: { template: spec.template, updateStrategy: { rollingUpdate: { partition: 0 } } } };
    },
    waits: 'until-observed',
  },
  {
    resource: DAEMON_SETS,
    controllers: ['daemon-set', 'garbage-collector'],
    objects: 1,
    create: (dice, name) => ({
      spec: {
        selector: selector(name),
        template: template(name, dice.pick(IMAGES)),
        updateStrategy: daemonStrategy(dice),
        minReadySeconds: dice.pick([0, 0, 2]),
      },
    }),
    changes: [
      update,
      (dice) => ({ spec: { updateStrategy: daemonStrategy(dice) } }),
      (dice) => {
        const disk = dice.chance(0.3) ? null : dice.pick(['fast', 'slow']);
        return { spec: { template: { spec: { nodeSelector: { disk } } } } };
      },
    ],
    repair: (object) => ({ spec: { template: (mend(object) as { spec: { template: object } }).spec.template } }),
    waits: 'until-observed',
  },
  {
    resource: JOBS,
    controllers: ['job', 'garbage-collector'],
    objects: 2,
    create: (dice, name) => ({
      spec: {
        parallelism: dice.between(1, 3),
        completions: dice.between(1, 4),
        completionMode: dice.pick(['NonIndexed', 'Indexed']),
        backoffLimit: 20,
        suspend: dice.chance(0.2),
        template: jobTemplate(dice, name),
      },
    }),
    changes: [
      (dice) => ({ spec: { parallelism: dice.between(1, 4) } }),
      (dice) => ({ spec: { suspend: dice.chance(0.5) } }),
    ],
    repair: () => ({ spec: { suspend: false } }),
    leavesOrphans: false,
    waits: 'not',
  },
  {
    resource: CRON_JOBS,
    controllers: ['cronjob', 'job', 'garbage-collector'],
    objects: 1,
    create: (dice, name) => ({
      spec: {
        schedule: dice.pick(['* * * * *', '*/2 * * * *']),
        concurrencyPolicy: dice.pick(['Allow', 'Forbid', 'Replace']),
        jobTemplate: { spec: { template: jobTemplate(dice, name) } },
      },
    }),
    changes: [
      (dice) => ({ spec: { suspend: dice.chance(0.5) } }),
      (dice) => ({ spec: { concurrencyPolicy: dice.pick(['Allow', 'Forbid', 'Replace']) } }),
    ],
    repair: () => ({ spec: { suspend: true } }),
    leavesOrphans: false,
    waits: 'not',
  },
  {
    resource: POD_DISRUPTION_BUDGETS,
    controllers: ['disruption'],
    objects: 1,
    create: (dice) => ({ spec: { selector: selector('deployment-1'), ...budget(dice) } }),
    changes: [(dice) => ({ spec: budget(dice) })],
    waits: 'until-observed',
  },
  {
    resource: RESOURCE_QUOTAS,
    controllers: ['resource-quota'],
    objects: 1,
    // More than any history needs: who gets the last place is a matter of chance.
    create: (dice) => ({
      spec: { hard: { pods: `${dice.between(100, 200)}`, configmaps: '100', 'count/jobs.batch': '100' } },
    }),
    changes: [(dice) => ({ spec: { hard: { pods: `${dice.between(100, 200)}` } } })],
    waits: 'not',
  },
  {
    resource: CONFIG_MAPS,
    controllers: ['garbage-collector'],
    objects: 3,
    create: (dice) => ({ data: { value: String(dice.between(1, 9)) } }),
    changes: [(dice) => ({ data: { value: String(dice.between(1, 9)) } })],
    owns: true,
    waits: 'not',
  },
];

function strategy(dice: Dice): object {
  if (dice.chance(0.2)) return { type: 'Recreate', rollingUpdate: null };
  const maxSurge = dice.pick([0, 1, 2, '25%', '50%']);
  const maxUnavailable = maxSurge === 0 ? dice.pick([1, 2, '50%']) : dice.pick([0, 1, '25%', '50%']);
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
}

function daemonStrategy(dice: Dice): object {
  const rollingUpdate = dice.chance(0.4)
    ? { maxSurge: dice.pick([1, '50%']), maxUnavailable: 0 }
    : { maxSurge: 0, maxUnavailable: dice.pick([1, 2, '50%']) };
  return { type: 'RollingUpdate', rollingUpdate };
}

function budget(dice: Dice): object {
  return dice.chance(0.5)
    ? { minAvailable: dice.pick([1, 2, '50%']), maxUnavailable: null }
    : { maxUnavailable: dice.pick([0, 1, '50%']), minAvailable: null };
}

function jobTemplate(dice: Dice, name: string): object {
  const annotations = { [POD_FATE.fails]: String(dice.pick([0, 0, 1, 2])) };
  const spec = { restartPolicy: 'Never', containers: [{ name: 'c', image: dice.pick(IMAGES) }] };
  return { metadata: { labels: { app: name }, annotations }, spec };
}
