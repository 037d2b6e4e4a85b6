import type { KubeObject } from '@gantry/objects';
import type { Dice } from '@gantry/controller-runtime/testing';
import { LOAD, LOAD_METRIC, TARGET_MILLICORES } from './autoscaling.ts';
import { POD_FATE } from './nodes.ts';

/** Images whose pods become ready. */
export const IMAGES = ['example.org/app:1', 'example.org/app:2', 'example.org/app:3'];
/** An image whose pods never become ready. */
const BROKEN = 'example.org/app:broken';

/** The numbers of replicas that users choose from. */
export const REPLICAS = [0, 1, 2, 3, 5];

/** A pod template. Pods with the broken image never become ready. */
export function template(app: string, image: string, rest: object = {}) {
  const annotations = { [POD_FATE.ready]: image === BROKEN ? 'never' : 'soon' };
  return { metadata: { labels: { app }, annotations }, spec: { containers: [{ name: 'c', image }], ...rest } };
}

/** The merge patch that sets another image, and with it whether the pods become ready. */
export function imagePatch(app: string, image: string): object {
  return { spec: { template: template(app, image) } };
}

const anyImage = (dice: Dice): string => (dice.chance(0.15) ? BROKEN : dice.pick(IMAGES));
/** The merge patch that sets another number of replicas. */
export const scale = (dice: Dice): object => ({ spec: { replicas: dice.pick(REPLICAS) } });
/** The name of the Deployment that autoscalers scale. */
export const AUTOSCALED = 'deployment-1';
/**
 * A new number of replicas. It is not 0 for `AUTOSCALED`: that would turn autoscaling off, and whether the autoscaler acts just before
 * would be random.
 */
export const replicasOf = (dice: Dice, name: string): number =>
  dice.pick(name === AUTOSCALED ? [1, 2, 3, 5] : REPLICAS);
/** The merge patch that sets another image, which may be the broken one. */
export const update = (dice: Dice, { metadata: { name = '' } }: KubeObject): object => imagePatch(name, anyImage(dice));

/** The merge patch that makes a workload's pods become ready. */
export const mend = (object: KubeObject): object => {
  const { name = '' } = object.metadata;
  return { spec: { paused: false, ...(imagePatch(name, IMAGES[0] ?? '') as { spec: object }).spec } };
};

/** A selector for the pods of a workload. */
export const selector = (app: string) => ({ matchLabels: { app } });

/** The strategy of a Deployment. */
export function strategy(dice: Dice): object {
  if (dice.chance(0.2)) return { type: 'Recreate', rollingUpdate: null };
  const maxSurge = dice.pick([0, 1, 2, '25%', '50%']);
  const maxUnavailable = maxSurge === 0 ? dice.pick([1, 2, '50%']) : dice.pick([0, 1, '25%', '50%']);
  return { type: 'RollingUpdate', rollingUpdate: { maxSurge, maxUnavailable } };
}

/** The update strategy of a DaemonSet. */
export function daemonStrategy(dice: Dice): object {
  const rollingUpdate = dice.chance(0.4)
    ? { maxSurge: dice.pick([1, '50%']), maxUnavailable: 0 }
    : { maxSurge: 0, maxUnavailable: dice.pick([1, 2, '50%']) };
  return { type: 'RollingUpdate', rollingUpdate };
}

/** One of the two bounds of a PodDisruptionBudget. The patch removes the other one. */
export function budget(dice: Dice): object {
  return dice.chance(0.5)
    ? { minAvailable: dice.pick([1, 2, '50%']), maxUnavailable: null }
    : { maxUnavailable: dice.pick([0, 1, '50%']), minAvailable: null };
}

/**
 * The number of replicas that the load needs. Up to 6, a difference of one replica exceeds the autoscaler's tolerance of a tenth, so there
 * is only one possible end.
 */
export function load(dice: Dice): Record<string, unknown> {
  return { annotations: { [LOAD]: String(dice.between(0, 6)) } };
}

/** The minimum and maximum replicas of an autoscaler. */
export function autoscalerBounds(dice: Dice): object {
  return { minReplicas: dice.between(1, 2), maxReplicas: dice.between(2, 5) };
}

/**
 * The metric of an autoscaler: CPU or memory of the pods, CPU of their container, or a metric of another server, which is about the pods,
 * the Deployment, or something outside the cluster.
 */
export function autoscalerMetric(dice: Dice): object {
  const target = { type: 'AverageValue', averageValue: `${TARGET_MILLICORES}m` };
  const metric = { name: LOAD_METRIC };
  const describedObject = { apiVersion: 'apps/v1', kind: 'Deployment', name: AUTOSCALED };
  return dice.pick([
    { type: 'Resource', resource: { name: 'cpu', target } },
    { type: 'Resource', resource: { name: 'memory', target } },
    { type: 'ContainerResource', containerResource: { name: 'cpu', container: 'c', target } },
    { type: 'Pods', pods: { metric, target } },
    { type: 'Object', object: { metric, describedObject, target } },
    { type: 'External', external: { metric, target } },
  ]);
}

/** The claim templates of a StatefulSet, for half of the sets. Each pod has a volume on the node where it was first scheduled. */
export function setClaims(dice: Dice): object {
  if (dice.chance(0.5)) return {};
  const resources = { requests: { storage: '1Gi' } };
  const spec = { accessModes: ['ReadWriteOnce'], storageClassName: 'local-path', resources };
  return {
    volumeClaimTemplates: [{ metadata: { name: 'data' }, spec }],
    persistentVolumeClaimRetentionPolicy: retention(dice),
  };
}

/** Whether a StatefulSet's claims are kept or deleted when it is deleted or scaled down. */
export function retention(dice: Dice): object {
  return { whenDeleted: dice.pick(['Retain', 'Delete']), whenScaled: dice.pick(['Retain', 'Delete']) };
}

/** A volume for the claim of one namespace. With one volume for several claims, it would be random which claim gets it. */
export function volumeFor(name: string): object {
  const storageClassName = name === 'persistentvolume-1' ? 'of-default' : 'of-n';
  return {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    persistentVolumeReclaimPolicy: 'Retain',
    storageClassName,
    hostPath: { path: `/tmp/${name}` },
  };
}

/** A claim for the volume of its namespace. */
export function claimIn(namespace: string): object {
  const resources = { requests: { storage: '1Gi' } };
  return { accessModes: ['ReadWriteOnce'], storageClassName: `of-${namespace}`, resources };
}
