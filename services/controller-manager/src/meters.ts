import type { Metrics } from '@gantry/service';
import { type EphemeralVolumeMeter, ephemeralVolumeMeter } from './controllers/ephemeral-volume/meter.shell.ts';
import { type VolumeMeter, volumeMeter } from './controllers/persistent-volume/meter.shell.ts';
import { type PodGcMeter, podGcMeter } from './controllers/pod-gc/meter.shell.ts';
import { type PodSetMeter, podSetMeter } from './controllers/replica-set/meter.shell.ts';
import { type GarbageMeter, garbageMeter } from './controllers/garbage-collector/meter.shell.ts';
import { type RootCaMeter, rootCaMeter } from './controllers/root-ca/meter.shell.ts';
import { type MirrorMeter, mirrorMeter } from './controllers/endpoint-slice-mirroring/meter.shell.ts';
import { type EndpointSliceMeter, endpointSliceMeter } from './controllers/endpoint-slice/meter.shell.ts';
import { type TaintEvictionMeter, taintEvictionMeter } from './controllers/taint-eviction/meter.shell.ts';
import { type TtlMeter, ttlMeter } from './controllers/ttl-after-finished/meter.shell.ts';
import { type JobMeter, jobMeter } from './controllers/job/meter.shell.ts';
import { type CommonMeters, createCommonMeters } from './controllers/meters.ts';

/** What controllers report of their own work. Names, labels and buckets are Kubernetes'. */
export interface Meters extends CommonMeters {
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
    ...createCommonMeters(metrics),
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
