import {
  CONFIG_MAPS,
  DAEMON_SETS,
  DEPLOYMENTS,
  HORIZONTAL_POD_AUTOSCALERS,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  POD_DISRUPTION_BUDGETS,
  REPLICA_SETS,
  REPLICATION_CONTROLLERS,
  RESOURCE_QUOTAS,
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
  load,
  mend,
  REPLICAS,
  replicasOf,
  scale,
  selector,
  strategy,
  template,
  update,
  claimIn,
  retention,
  setClaims,
  volumeFor,
} from './kind-contents.ts';
import { JOB_KINDS } from './job-kinds.ts';
import { SERVICE_KINDS } from './service-kinds.ts';
import type { SimulatedKind } from './simulated-kind.ts';

/** The kinds that histories consist of. */
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
    // An ordered set waits forever for a pod that does not become ready, so its images are never broken.
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
  ...JOB_KINDS,
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
  ...SERVICE_KINDS,
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
    // More than any history needs. Otherwise it would be random which object gets the last place.
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
