import { exponentialBuckets, type Metrics } from '@gantry/service';
import { type EndpointSliceMeter, endpointSliceMeter, type MirrorMeter, mirrorMeter } from './endpoint-slices.ts';
import {
  type NodeMeter,
  nodeMeter,
  type RangeMeter,
  rangeMeter,
  type PodGcMeter,
  podGcMeter,
  type TaintEvictionMeter,
  taintEvictionMeter,
} from './nodes.ts';
import { type EphemeralVolumeMeter, ephemeralVolumeMeter, type VolumeMeter, volumeMeter } from './volumes.ts';
import {
  type AutoscalerMeter,
  autoscalerMeter,
  type CronJobMeter,
  cronJobMeter,
  type JobMeter,
  jobMeter,
  type PodSetMeter,
  podSetMeter,
  type TtlMeter,
  ttlMeter,
} from './workloads.ts';

/** The metrics of controllers' own work. Names, labels and buckets are Kubernetes'. */
export interface Meters {
  readonly cronJob: CronJobMeter;
  readonly autoscaler: AutoscalerMeter;
  readonly nodes: NodeMeter;
  readonly ranges: RangeMeter;
  readonly garbage: GarbageMeter;
  readonly job: JobMeter;
  readonly podGc: PodGcMeter;
  readonly podSets: PodSetMeter;
  readonly taintEviction: TaintEvictionMeter;
  readonly ttl: TtlMeter;
  readonly slices: EndpointSliceMeter;
  readonly mirrors: MirrorMeter;
  readonly ephemeralVolumes: EphemeralVolumeMeter;
  readonly rootCa: RootCaMeter;
  readonly volumes: VolumeMeter;
}

/** The meters of all controllers, in the metrics of a process. */
export function createMeters(metrics: Metrics): Meters {
  return {
    cronJob: cronJobMeter(metrics),
    autoscaler: autoscalerMeter(metrics),
    nodes: nodeMeter(metrics),
    ranges: rangeMeter(metrics),
    garbage: garbageMeter(metrics),
    job: jobMeter(metrics),
    podGc: podGcMeter(metrics),
    podSets: podSetMeter(metrics),
    taintEviction: taintEvictionMeter(metrics),
    ttl: ttlMeter(metrics),
    slices: endpointSliceMeter(metrics),
    mirrors: mirrorMeter(metrics),
    ephemeralVolumes: ephemeralVolumeMeter(metrics),
    rootCa: rootCaMeter(metrics),
    volumes: volumeMeter(metrics),
  };
}

export interface GarbageMeter {
  /** Counts a failed list of a resource: its objects, and owners among them, are unknown. */
  unlisted(): void;
}

export function garbageMeter(metrics: Metrics): GarbageMeter {
  const errors = metrics.counter(
    'garbagecollector_controller_resources_sync_error_total',
    'Failed attempts to list a custom or aggregated resource that was never listed before',
  );
  return { unlisted: () => errors.inc() };
}

export interface RootCaMeter {
  /** Records a reconcile of a namespace; `code` is the HTTP code of the failure, or 200. */
  synced(code: number, seconds: number): void;
}

function rootCaMeter(metrics: Metrics): RootCaMeter {
  const total = metrics.counter('root_ca_cert_publisher_sync_total', 'Reconciles of namespaces', ['code']);
  const seconds = metrics.histogram(
    'root_ca_cert_publisher_sync_duration_seconds',
    'Time of one reconcile of a namespace',
    ['code'],
    exponentialBuckets(0.001, 2, 15),
  );
  return {
    synced: (code, took) => {
      total.inc({ code });
      seconds.observe(took, { code });
    },
  };
}
