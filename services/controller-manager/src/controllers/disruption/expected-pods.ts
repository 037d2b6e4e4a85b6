import { controllerOf, type Pod, type PodDisruptionBudgetSpec, resolveIntOrPercent } from '@gantry/objects';

/** The desired replicas of a controller. `uid` is that of the counted object: the Deployment for its ReplicaSets. */
export type ControllerScale = { readonly uid: string; readonly replicas: number } | { readonly error: string } | 'none';

/** The number of pods that a budget expects and needs. `unmanaged` lists pods without a controller, if a percentage was computed. */
export interface ExpectedPods {
  readonly expectedPods: number;
  readonly desiredHealthy: number;
  readonly unmanaged: readonly string[];
}

/** The requirements of a budget's spec for its pods, or the error. */
export function expectedPods(
  spec: PodDisruptionBudgetSpec | undefined,
  pods: readonly Pod[],
  scales: ReadonlyMap<string, ControllerScale>,
): ExpectedPods | { readonly error: string } {
  const { maxUnavailable, minAvailable } = spec ?? {};
  if (maxUnavailable === undefined && typeof minAvailable === 'number') {
    return { expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: [] };
  }
  if (maxUnavailable === undefined && minAvailable === undefined) {
    return { expectedPods: 0, desiredHealthy: 0, unmanaged: [] };
  }
  const scale = totalScale(pods, scales);
  if ('error' in scale) return scale;
  const desiredHealthy =
    maxUnavailable === undefined
      ? resolveIntOrPercent(minAvailable ?? 0, scale.total, 'up')
      : Math.max(0, scale.total - resolveIntOrPercent(maxUnavailable, scale.total, 'up'));
  return { expectedPods: scale.total, desiredHealthy, unmanaged: scale.unmanaged };
}

/** Whether the budget's numbers depend on the scale of the pods' controllers. */
export function needsScale(spec: PodDisruptionBudgetSpec | undefined): boolean {
  return spec?.maxUnavailable !== undefined || typeof spec?.minAvailable === 'string';
}

/** The total replicas of the pods' controllers, each counted once. */
function totalScale(
  pods: readonly Pod[],
  scales: ReadonlyMap<string, ControllerScale>,
): { readonly total: number; readonly unmanaged: readonly string[] } | { readonly error: string } {
  const unmanaged: string[] = [];
  const replicas = new Map<string, number>();
  for (const pod of pods) {
    const { name = '' } = pod.metadata;
    const controller = controllerOf(pod);
    if (controller === undefined) {
      unmanaged.push(name);
      continue;
    }
    const scale = scales.get(controller.uid) ?? 'none';
    if (scale === 'none') return { error: `found no controllers for pod ${JSON.stringify(name)}` };
    if ('error' in scale) return scale;
    replicas.set(scale.uid, scale.replicas);
  }
  return { total: [...replicas.values()].reduce((sum, count) => sum + count, 0), unmanaged };
}
