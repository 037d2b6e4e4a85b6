import {
  CONFIG_MAPS,
  CRON_JOBS,
  DAEMON_SETS,
  DEPLOYMENTS,
  JOBS,
  HORIZONTAL_POD_AUTOSCALERS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  RESOURCE_QUOTAS,
  SERVICES,
  STATEFUL_SETS,
} from '@gantry/objects';
import {
  AUTOSCALED,
  autoscalerBounds,
  autoscalerMetric,
  budget,
  daemonStrategy,
  imagePatch,
  IMAGES,
  jobTemplate,
  load,
  mend,
  REPLICAS,
  replicasOf,
  scale,
  selector,
  SERVED,
  servicePorts,
  strategy,
  template,
  update,
  claimIn,
  retention,
  setClaims,
  volumeFor,
} from './kind-contents.ts';
import type { SimulatedKind } from './simulated-kind.ts';

/** What the histories are made of. */
export const SIMULATED_KINDS: readonly SimulatedKind[] = [
  {
    resource: DEPLOYMENTS,
    controllers: ['deployment', 'replica-set', 'garbage-collector'],
    objects: 2,
    create: (dice, name) => ({
      spec: {
        replicas: replicasOf(dice, name),
        selector: selector(name),
        template: template(name, dice.pick(IMAGES)),
        strategy: strategy(dice),
        revisionHistoryLimit: dice.pick([0, 1, 2, 10]),
        minReadySeconds: dice.pick([0, 0, 2]),
      },
    }),
    changes: [
      (dice, { metadata: { name = '' } }) => ({ spec: { replicas: replicasOf(dice, name) } }),
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
    controllers: ['stateful-set', 'persistent-volume', 'local-path', 'claim-protection', 'garbage-collector'],
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
        ...setClaims(dice),
      },
    }),
    // An ordered set waits for ever for a pod that does not become ready: its images are good.
    changes: [
      scale,
      (dice, { metadata: { name = '' } }) => imagePatch(name, dice.pick(IMAGES)),
      (dice) => ({ spec: { updateStrategy: { rollingUpdate: { partition: dice.pick([0, 1, 2]) } } } }),
      (dice) => ({ spec: { persistentVolumeClaimRetentionPolicy: retention(dice) } }),
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
    resource: HORIZONTAL_POD_AUTOSCALERS,
    controllers: ['horizontal-pod-autoscaler'],
    objects: 1,
    create: (dice) => ({
      metadata: load(dice),
      spec: {
        scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: AUTOSCALED },
        ...autoscalerBounds(dice),
        metrics: [autoscalerMetric(dice)],
        behavior: { scaleDown: { stabilizationWindowSeconds: dice.pick([0, 15, 30]) } },
      },
    }),
    changes: [
      (dice) => ({ metadata: load(dice) }),
      (dice) => ({ metadata: load(dice) }),
      (dice) => ({ spec: autoscalerBounds(dice) }),
    ],
    stays: true,
    waits: 'not',
  },
  {
    resource: SERVICES,
    controllers: ['endpoint-slice', 'endpoints', 'garbage-collector'],
    objects: 2,
    create: (dice) => ({
      spec: {
        selector: { app: dice.pick(SERVED) },
        ports: servicePorts(dice),
        publishNotReadyAddresses: dice.chance(0.2),
        ...(dice.chance(0.3) ? { clusterIP: 'None' } : {}),
      },
    }),
    changes: [
      (dice) => ({ spec: { selector: { app: dice.pick(SERVED) } } }),
      (dice) => ({ spec: { ports: servicePorts(dice) } }),
      (dice) => ({ spec: { publishNotReadyAddresses: dice.chance(0.5) } }),
      (dice) => ({ metadata: { labels: { tier: dice.pick(['front', 'back']) } } }),
    ],
    leavesOrphans: false,
    waits: 'not',
  },
  {
    resource: PERSISTENT_VOLUMES,
    controllers: ['persistent-volume'],
    objects: 2,
    create: (_dice, name) => ({ spec: volumeFor(name) }),
    changes: [(dice) => ({ metadata: { labels: { tier: dice.pick(['fast', 'slow']) } } })],
    stays: true,
    waits: 'not',
  },
  {
    resource: PERSISTENT_VOLUME_CLAIMS,
    controllers: ['persistent-volume', 'claim-protection', 'garbage-collector'],
    objects: 1,
    create: (_dice, _name, namespace) => ({ spec: claimIn(namespace) }),
    changes: [(dice) => ({ metadata: { labels: { tier: dice.pick(['fast', 'slow']) } } })],
    leavesOrphans: false,
    waits: 'until-bound',
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
