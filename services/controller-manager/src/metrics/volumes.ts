import { classOfClaim, type PersistentVolume, type PersistentVolumeClaim, type StorageClass } from '@gantry/objects';
import type { Metrics } from '@gantry/service';
import { HOST_PATH } from '../controllers/persistent-volume/provision.ts';

/** The objects that are counted at a scrape. */
interface CountedVolumes {
  readonly volumes: Iterable<PersistentVolume>;
  readonly claims: Iterable<PersistentVolumeClaim>;
}

/** An operation on a volume and the responsible plugin; `N/A` if unknown. */
export interface VolumeOperation {
  readonly plugin: string;
  readonly name: 'provision' | 'delete';
}

export interface VolumeMeter {
  /** Sets the function that returns the objects to count at each scrape. */
  count(counted: () => CountedVolumes): void;
  /** Counts claims without a class that got the default class, or the failure. */
  retroactive(result: 'done' | 'failed'): void;
  operationFailed(operation: VolumeOperation): void;
  /** Records the duration from the first attempt until the claim is bound or the volume is gone. */
  operationEnded(operation: VolumeOperation, seconds: number): void;
}

const OPERATION_BUCKETS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600];
const NONE: CountedVolumes = { volumes: [], claims: [] };

/** Names and labels are those of Kubernetes' `pkg/controller/volume/persistentvolume/metrics`. */
export function volumeMeter(metrics: Metrics): VolumeMeter {
  let counted = () => NONE;
  const gauge = <T>(
    name: string,
    help: string,
    of: (all: CountedVolumes) => Iterable<T>,
    labels: (one: T) => Readonly<Record<string, string>> | undefined,
    labelNames: readonly string[],
  ) =>
    metrics.gauge(`pv_collector_${name}`, help, labelNames, ({ set }) => {
      for (const [values, count] of tally(of(counted()), labels)) set(count, values);
    });
  const volumes = ({ volumes: all }: CountedVolumes) => all;
  const claims = ({ claims: all }: CountedVolumes) => all;
  const isBound = ({ status }: PersistentVolume | PersistentVolumeClaim) => status?.phase === 'Bound';
  const ofClass = ({ spec }: PersistentVolume) => ({ storage_class: spec?.storageClassName ?? '' });
  const ofClaim = (claim: PersistentVolumeClaim) => ({
    namespace: claim.metadata.namespace ?? '',
    storage_class: classOfClaim(claim),
    volume_attributes_class: claim.spec?.volumeAttributesClassName ?? '',
  });
  const claimLabels = ['namespace', 'storage_class', 'volume_attributes_class'];
  gauge('total_pv_count', 'Volumes', volumes, pluginOf, ['plugin_name', 'volume_mode']);
  gauge('bound_pv_count', 'Bound volumes', volumes, (one) => (isBound(one) ? ofClass(one) : undefined), [
    'storage_class',
  ]);
  gauge('unbound_pv_count', 'Unbound volumes', volumes, (one) => (isBound(one) ? undefined : ofClass(one)), [
    'storage_class',
  ]);
  gauge('bound_pvc_count', 'Bound claims', claims, (one) => (isBound(one) ? ofClaim(one) : undefined), claimLabels);
  gauge('unbound_pvc_count', 'Unbound claims', claims, (one) => (isBound(one) ? undefined : ofClaim(one)), claimLabels);
  const given = metrics.counter(
    'retroactive_storageclass_total',
    'Claims that got the default class after their creation',
  );
  const failed = metrics.counter(
    'retroactive_storageclass_errors_total',
    'Failed attempts to give a claim the default class',
  );
  const labels = ['plugin_name', 'operation_name'];
  const took = metrics.histogram(
    'volume_operation_total_seconds',
    'Time of volume operations: `provision` until the claim is bound, `delete` until the volume is gone',
    labels,
    OPERATION_BUCKETS,
  );
  const errors = metrics.counter('volume_operation_errors_total', 'Failed attempts of volume operations', labels);
  const olderErrors = metrics.counter(
    'volume_operation_total_errors',
    'volume_operation_errors_total under its older name',
    labels,
  );
  return {
    operationFailed: ({ plugin, name }) => {
      for (const counter of [errors, olderErrors]) counter.inc({ plugin_name: plugin, operation_name: name });
    },
    operationEnded: ({ plugin, name }, seconds) => took.observe(seconds, { plugin_name: plugin, operation_name: name }),
    count: (of) => {
      counted = of;
    },
    retroactive: (result) => {
      given.inc();
      if (result === 'failed') failed.inc();
    },
  };
}

/** The plugin's name in Kubernetes' volume controller, which only knows plugins whose volumes it can delete or empty. */
function pluginOf({ spec }: PersistentVolume): Readonly<Record<string, string>> {
  const name = spec?.hostPath !== undefined ? HOST_PATH : spec?.nfs !== undefined ? NFS : UNKNOWN;
  return { plugin_name: name, volume_mode: spec?.volumeMode ?? 'Filesystem' };
}

/** The name of what deletes a volume: Kubernetes' plugin for folders, or the provisioner of its class. */
export function deleterOf({ spec }: PersistentVolume, storageClass: StorageClass | undefined): string {
  return spec?.hostPath === undefined ? (storageClass?.provisioner ?? UNKNOWN) : HOST_PATH;
}

const NFS = 'kubernetes.io/nfs';
const UNKNOWN = 'N/A';

/** Counts items with the same labels. */
function tally<T>(
  all: Iterable<T>,
  labels: (one: T) => Readonly<Record<string, string>> | undefined,
): Iterable<readonly [Readonly<Record<string, string>>, number]> {
  const counts = new Map<string, [Readonly<Record<string, string>>, number]>();
  for (const one of all) {
    const values = labels(one);
    if (values === undefined) continue;
    const id = JSON.stringify(values);
    counts.set(id, [values, (counts.get(id)?.[1] ?? 0) + 1]);
  }
  return counts.values();
}

export interface EphemeralVolumeMeter {
  /** Counts a creation of a claim for a pod's volume, or its failure. */
  created(result: 'created' | 'failed'): void;
}

export function ephemeralVolumeMeter(metrics: Metrics): EphemeralVolumeMeter {
  const total = metrics.counter(
    'ephemeral_volume_controller_create_total',
    'Creations of claims for ephemeral volumes',
  );
  const failures = metrics.counter(
    'ephemeral_volume_controller_create_failures_total',
    'Failed creations of claims for ephemeral volumes',
  );
  return {
    created: (result) => {
      total.inc();
      if (result === 'failed') failures.inc();
    },
  };
}
