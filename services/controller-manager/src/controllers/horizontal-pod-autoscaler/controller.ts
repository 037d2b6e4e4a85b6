import { type Clock, errorMessage, type Instant } from '@gantry/base';
import { ignoreNotFound } from '@gantry/client';
import { type ControllerContext, type ControllerSpec, watchSelf } from '@gantry/controller-runtime';
import {
  formatKey,
  HORIZONTAL_POD_AUTOSCALERS,
  type HorizontalPodAutoscaler,
  isReason,
  type KubeObject,
  PODS,
  type Resource,
  type Scale,
} from '@gantry/objects';
import type { AutoscalerMeter } from '../../metrics/workloads.ts';
import { type Action, errorOf } from './draft.ts';
import { type Memory, NO_MEMORY } from './memory.ts';
import { readMetric } from './metric-reader.shell.ts';
import { type MetricQuery, type MetricReading, queryOf } from './metric-readings.ts';
import { needsMetrics, type ObservedAutoscaler, planAutoscaler } from './plan.ts';
import { type Kinds, type ReadPath, readScale } from './scale-reader.shell.ts';
import { type PodsOf, Selectors, selectPods } from './selectors.ts';

/** Kubernetes' default of `--horizontal-pod-autoscaler-sync-period`. */
const SYNC_MS = 15_000;
/** As Kubernetes' `retry.DefaultRetry`. */
const SCALE_ATTEMPTS = 5;

/** The state of one autoscaler between reconciles. */
interface Known {
  readonly uid: string;
  memory: Memory;
  dueAt: Instant;
}

/** An observed autoscaler with the resource of its target. */
interface Observation extends ObservedAutoscaler {
  readonly resource: Resource | undefined;
  /** Seconds that reading each metric took. */
  readonly tookSeconds: readonly number[];
}

/**
 * Sets the scale of autoscalers' targets by metrics, which are read through the API server. Each autoscaler is planned every 15 s and not
 * at changes, as in Kubernetes: recommendations depend on time.
 */
export function createHorizontalPodAutoscalerController(read: ReadPath, meter: AutoscalerMeter): ControllerSpec {
  const known = new Map<string, Known>();
  const selectors = new Selectors();
  return {
    name: 'horizontal-pod-autoscaler',
    eventSource: 'horizontal-pod-autoscaler',
    // Pods are only cached and queue nothing.
    watches: [watchSelf(HORIZONTAL_POD_AUTOSCALERS), { resource: PODS, keys: () => [] }],
    begin: () => {
      known.clear();
      selectors.clear();
    },
    end: () => meter.clear(),
    reconcile: async (key, context, signal) => {
      const id = formatKey(key);
      const { cache, clock, served } = context;
      const autoscaler = cache.get(HORIZONTAL_POD_AUTOSCALERS, key);
      if (autoscaler === undefined) {
        known.delete(id);
        selectors.delete(key);
        meter.wants(key.namespace, key.name, undefined);
        return {};
      }
      const mine = knownOf(known, id, autoscaler, clock.now());
      const waitMs = mine.dueAt - clock.now();
      if (waitMs > 0) return { requeueAfterMs: waitMs };
      mine.dueAt = clock.now() + SYNC_MS;
      const startedMs = clock.monotonicMs();
      const observed = await observe(autoscaler, mine.memory, { cache, selectors, kinds: served, read, clock }, signal);
      const { actions } = planAutoscaler(observed, clock.now());
      const remember = (memory: Memory) => {
        mine.memory = memory;
      };
      await carryOut(actions, observed, { context, read, remember, meter }, signal);
      meter.wants(key.namespace, key.name, wantedBy(actions, autoscaler));
      meter.reconciled({ ...resultOf(actions, observed), seconds: (clock.monotonicMs() - startedMs) / 1000 });
      return { requeueAfterMs: Math.max(1, mine.dueAt - clock.now()) };
    },
  };
}

function wantedBy(actions: readonly Action[], { status }: HorizontalPodAutoscaler): number {
  const update = actions.find((action) => action.kind === 'updateStatus');
  return (update === undefined ? status : update.status)?.desiredReplicas ?? 0;
}

/** The effect of a plan, and whether it failed: because of the spec, or because something could not be read. */
function resultOf(actions: readonly Action[], { target }: Observation): Pick<AutoscalerResult, 'action' | 'error'> {
  const current = target.kind === 'found' ? (target.scale.spec?.replicas ?? 0) : 0;
  const rescaling = actions.find((action) => action.kind === 'rescale');
  const reasons = actions.flatMap((action) =>
    action.kind === 'event' && action.type === 'Warning' ? [action.reason] : [],
  );
  const error = reasons.some((reason) => errorOf(reason) === 'spec') ? 'spec' : 'internal';
  return {
    action: rescaling === undefined ? 'none' : rescaling.replicas > current ? 'scale_up' : 'scale_down',
    error: reasons.length === 0 ? 'none' : error,
  };
}

type AutoscalerResult = Parameters<AutoscalerMeter['reconciled']>[0];

/** The state of an autoscaler. A new one is due after a full period, as in Kubernetes, so that its target has time to start. */
function knownOf(known: Map<string, Known>, id: string, { metadata }: HorizontalPodAutoscaler, now: Instant): Known {
  const uid = metadata.uid ?? '';
  const found = known.get(id);
  if (found?.uid === uid) return found;
  const made: Known = { uid, memory: NO_MEMORY, dueAt: now + SYNC_MS };
  known.set(id, made);
  return made;
}

async function observe(
  autoscaler: HorizontalPodAutoscaler,
  memory: Memory,
  world: {
    readonly cache: ControllerContext['cache'];
    readonly selectors: Selectors;
    readonly kinds: Kinds;
    readonly read: ReadPath;
    readonly clock: Clock;
  },
  signal: AbortSignal,
): Promise<Observation> {
  const { cache, selectors, kinds, read, clock } = world;
  const { target, resource } = await readScale(autoscaler, kinds, read, signal);
  const bare = {
    autoscaler,
    target,
    memory,
    resource,
    readings: [],
    tookSeconds: [],
    selected: { kind: 'pods', pods: [] },
  } as const;
  if (target.kind === 'failed' || !needsMetrics(autoscaler, target.scale)) return bare;
  const key = { namespace: autoscaler.metadata.namespace ?? '', name: autoscaler.metadata.name ?? '' };
  const selector = target.scale.status?.selector ?? '';
  const podsOf: PodsOf = (namespace, labels) => cache.labelled(PODS, namespace, labels);
  const selected = selectPods(key, selector, { selectors, podsOf });
  if (selected.kind === 'refused') return { ...bare, selected };
  const scope = { namespace: key.namespace, selector };
  const queries = (autoscaler.spec.metrics ?? []).map(queryOf);
  const results = await readMetrics(queries, (query) => readMetric(query, scope, { kinds, read }, signal), clock);
  return { ...bare, selected, ...results };
}

/**
 * Reads metrics sequentially, each once. Metrics that are not reached within a period are not read, because others wait for the API too.
 */
async function readMetrics(
  queries: readonly (MetricQuery | undefined)[],
  read: (query: MetricQuery) => Promise<MetricReading>,
  clock: Clock,
): Promise<Pick<Observation, 'readings' | 'tookSeconds'>> {
  const known = new Map<string, MetricReading>();
  const endsAt = clock.monotonicMs() + SYNC_MS;
  const readings: MetricReading[] = [];
  const tookSeconds: number[] = [];
  for (const query of queries) {
    const id = JSON.stringify(query);
    const startedMs = clock.monotonicMs();
    const isLate = startedMs >= endsAt;
    const reading = query === undefined ? NO_VALUES : (known.get(id) ?? (isLate ? NOT_READ : await read(query)));
    known.set(id, reading);
    readings.push(reading);
    tookSeconds.push((clock.monotonicMs() - startedMs) / 1000);
  }
  return { readings, tookSeconds };
}

const NO_VALUES: MetricReading = { kind: 'values', values: [] };
const NOT_READ: MetricReading = { kind: 'failed', message: 'reading the metrics before it took a whole period' };

interface Hands {
  readonly context: ControllerContext;
  readonly read: ReadPath;
  readonly remember: (memory: Memory) => void;
  readonly meter: AutoscalerMeter;
}

async function carryOut(
  actions: readonly Action[],
  observed: Observation,
  hands: Hands,
  signal: AbortSignal,
): Promise<void> {
  const { client, events } = hands.context;
  const { autoscaler } = observed;
  for (const action of actions) {
    switch (action.kind) {
      case 'event':
        events.event(autoscaler, action.type, action.reason, action.message);
        break;
      case 'remember':
        hands.remember(action.memory);
        break;
      case 'computed': {
        const { index, action: direction, error } = action;
        const type = autoscaler.spec.metrics?.[index]?.type ?? '';
        hands.meter.computed({ type, action: direction, error, seconds: observed.tookSeconds[index] ?? 0 });
        break;
      }
      case 'rescale': {
        const failure = await rescale(observed, action.replicas, hands, signal);
        if (failure === undefined) break;
        await carryOut(action.failed(failure), observed, hands, signal);
        return;
      }
      case 'updateStatus': {
        const updated = { ...autoscaler, status: action.status };
        try {
          await ignoreNotFound(client.updateStatus(HORIZONTAL_POD_AUTOSCALERS, updated, signal));
        } catch (error) {
          signal.throwIfAborted();
          // The autoscaler is planned again in the next period, from the stored state.
          events.event(autoscaler, 'Warning', 'FailedUpdateStatus', errorMessage(error));
        }
        break;
      }
    }
  }
}

/** Sets the scale. Retries on a conflict with the current version. Returns the message of a failure. */
async function rescale(
  { autoscaler, target, resource }: Observation,
  replicas: number,
  { context, read }: Hands,
  signal: AbortSignal,
): Promise<string | undefined> {
  if (resource === undefined || target.kind === 'failed') return undefined;
  let { scale } = target;
  for (let attempt = 1; ; attempt++) {
    try {
      await context.client.updateSubresource<KubeObject>(resource, 'scale', withReplicas(scale, replicas), signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!isReason(error, 'Conflict') || attempt === SCALE_ATTEMPTS) return errorMessage(error);
    }
    const again = await readScale(autoscaler, context.served, read, signal);
    if (again.target.kind === 'found') scale = again.target.scale;
  }
}

function withReplicas(scale: Scale, replicas: number): Scale {
  return { ...scale, spec: { ...scale.spec, replicas } };
}
