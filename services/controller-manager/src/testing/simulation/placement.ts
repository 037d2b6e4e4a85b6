import {
  BIND_COMPLETED,
  claimsOfPod,
  isTolerated,
  LOCAL_PATH,
  type Node,
  NODES,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  PROVISIONED_BY,
  SELECTED_NODE,
  VOLUME_NODE_LABEL,
} from '@gantry/objects';
import type { World } from './world.ts';

/** What the scheduler does for a pod. */
type Placement =
  | { readonly kind: 'bind'; readonly node: string }
  /** The scheduler chooses the node on which the volume of a claim is made. */
  | { readonly kind: 'select'; readonly claim: PersistentVolumeClaim; readonly node: string }
  /** No node fits, or a claim of the pod has no volume yet. */
  | { readonly kind: 'wait' };

const WAIT: Placement = { kind: 'wait' };

/** Places a pod with those of Kubernetes' filters that the histories need, and with delayed binding of claims. */
export function placePod(pod: Pod, world: World, pick: (nodes: readonly Node[]) => Node): Placement {
  let fitting = world.all(NODES).filter((node) => fits(pod, node));
  let waiting: PersistentVolumeClaim | undefined;
  for (const name of claimsOfPod(pod)) {
    const claim = world.get(PERSISTENT_VOLUME_CLAIMS, pod.metadata.namespace ?? '', name);
    if (claim === undefined || claim.metadata.deletionTimestamp !== undefined) return WAIT;
    if (claim.metadata.annotations?.[BIND_COMPLETED] !== undefined) {
      const host = hostOf(world.get(PERSISTENT_VOLUMES, '', claim.spec?.volumeName ?? ''));
      fitting = fitting.filter(({ metadata }) => metadata.labels?.[VOLUME_NODE_LABEL] === host);
    } else if (claim.metadata.annotations?.[SELECTED_NODE] !== undefined) return WAIT;
    else waiting = claim;
  }
  if (fitting.length === 0) return WAIT;
  const node = pick(fitting).metadata.name ?? '';
  return waiting === undefined ? { kind: 'bind', node } : { kind: 'select', claim: waiting, node };
}

/** The name of the node that has a local volume. */
export function hostOf(volume: PersistentVolume | undefined): string {
  return volume?.metadata.labels?.[VOLUME_NODE_LABEL] ?? '';
}

/** Whether the node of a local volume removes it: the claim is gone, and the reclaim policy is Delete. */
export function isReclaimable({ metadata, spec, status }: PersistentVolume): boolean {
  const isOurs = metadata.annotations?.[PROVISIONED_BY] === LOCAL_PATH;
  const isFree = status?.phase === 'Released' && metadata.deletionTimestamp === undefined;
  return isOurs && isFree && spec?.persistentVolumeReclaimPolicy === 'Delete';
}

/** Whether a node fits, by its taints and the pod's node selector and node name. */
function fits(pod: Pod, node: Node): boolean {
  const { tolerations = [], nodeSelector = {}, affinity } = pod.spec ?? {};
  const { name, labels = {}, deletionTimestamp } = node.metadata;
  if (deletionTimestamp !== undefined) return false;
  const { unschedulable = false, taints = [] } = node.spec ?? {};
  const all = unschedulable
    ? [...taints, { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }]
    : [...taints];
  const repels = all.some((taint) => taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations));
  if (repels || Object.entries(nodeSelector).some(([key, value]) => labels[key] !== value)) return false;
  const terms = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const byName = terms?.flatMap(({ matchFields = [] }) => matchFields);
  return byName === undefined || byName.length === 0 || byName.some(({ values = [] }) => values.includes(name ?? ''));
}
