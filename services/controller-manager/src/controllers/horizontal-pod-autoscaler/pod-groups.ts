import type { Instant } from '@gantry/base';
import { isPodLevelResource, lastingContainers, type Pod, quantityMilli } from '@gantry/objects';
import { MetricError, type PodMetrics } from './metric-answers.ts';

/** Pods grouped by how their metrics count. */
export interface PodGroups {
  readonly readyCount: number;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
  readonly ignored: ReadonlySet<string>;
}

/** Kubernetes' defaults of `--horizontal-pod-autoscaler-cpu-initialization-period` and `-initial-readiness-delay`. */
const CPU_INITIALISATION_MS = 300_000;
const READINESS_DELAY_MS = 30_000;
/** Go's zero time. */
const NEVER = -62_135_596_800_000;

/** Groups pods. Terminating pods are ignored. Pods that have not started, or whose CPU usage is not representative yet, are unready. */
export function groupPods(pods: readonly Pod[], metrics: PodMetrics, resource: string, now: Instant): PodGroups {
  const unready = new Set<string>();
  const missing = new Set<string>();
  const ignored = new Set<string>();
  let readyCount = 0;
  for (const pod of pods) {
    const name = pod.metadata.name ?? '';
    const metric = metrics.get(name);
    if (pod.metadata.deletionTimestamp !== undefined || pod.status?.phase === 'Failed') ignored.add(name);
    else if (pod.status?.phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === 'cpu' && isStarting(pod, metric, now)) unready.add(name);
    else readyCount++;
  }
  return { readyCount, unready, missing, ignored };
}

function isStarting(pod: Pod, metric: { readonly at: Instant; readonly windowMs: number }, now: Instant): boolean {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  const { startTime } = pod.status ?? {};
  if (ready === undefined || startTime === undefined || startTime === null) return true;
  const startedAt = Date.parse(startTime);
  const changedAt = typeof ready.lastTransitionTime === 'string' ? Date.parse(ready.lastTransitionTime) : NEVER;
  if (startedAt + CPU_INITIALISATION_MS > now) {
    return ready.status === 'False' || metric.at < changedAt + metric.windowMs;
  }
  return ready.status === 'False' && startedAt + READINESS_DELAY_MS > changedAt;
}

/** The number of running, ready pods. */
export function countReady(pods: readonly Pod[]): number {
  const isReady = ({ status }: Pod) =>
    status?.phase === 'Running' &&
    (status.conditions ?? []).some(({ type, status: value }) => type === 'Ready' && value === 'True');
  return pods.filter(isReady).length;
}

/** The requests of each pod, or of one container in each, for a resource, in thousandths. Throws MetricError if a request is missing. */
export function requestsOf(pods: readonly Pod[], resource: string, container: string): ReadonlyMap<string, number> {
  return new Map(pods.map((pod) => [pod.metadata.name ?? '', requestOf(pod, resource, container)]));
}

function requestOf(pod: Pod, resource: string, container: string): number {
  const whole = pod.spec?.resources?.requests ?? {};
  if (container === '' && Object.keys(whole).some(isPodLevelResource)) {
    const request = whole[resource] ?? sumOfContainers(pod, resource);
    if (request !== undefined) return typeof request === 'number' ? request : quantityMilli(request);
    throw new MetricError(`missing pod-level request for ${resource} in Pod ${pod.metadata.name ?? ''}`);
  }
  const counted = lastingContainers(pod).filter(({ name }) => container === '' || name === container);
  if (container !== '' && counted.length === 0) {
    throw new MetricError(`container ${container} not found in Pod ${pod.metadata.name ?? ''}`);
  }
  return counted.reduce((sum, { name, resources }) => {
    const request = resources?.requests?.[resource];
    if (request === undefined) {
      throw new MetricError(`missing request for ${resource} in container ${name} of Pod ${pod.metadata.name ?? ''}`);
    }
    return sum + quantityMilli(request);
  }, 0);
}

function sumOfContainers(pod: Pod, resource: string): number | undefined {
  const requests = lastingContainers(pod).flatMap(({ resources }) => resources?.requests?.[resource] ?? []);
  return requests.length === 0 ? undefined : requests.reduce((sum, request) => sum + quantityMilli(request), 0);
}
