import { classOfClaim, type PersistentVolume, type PersistentVolumeClaim } from '@gantry/objects';
import type { Metrics } from '@gantry/service';

/** What is counted at a scrape. */
export interface CountedVolumes {
  readonly volumes: Iterable<PersistentVolume>;
  readonly claims: Iterable<PersistentVolumeClaim>;
}

export interface VolumeMeter {
  /** From now on these are counted, at each scrape. */
  count(counted: () => CountedVolumes): void;
  /** Claims without a class got the default class, or could not be given it. */
  retroactive(result: 'done' | 'failed'): void;
}

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
  gauge('unbound_pv_count', 'Volumes that are not bound', volumes, (one) => (isBound(one) ? undefined : ofClass(one)), [
    'storage_class',
  ]);
  gauge('bound_pvc_count', 'Bound claims', claims, (one) => (isBound(one) ? ofClaim(one) : undefined), claimLabels);
  gauge(
    'unbound_pvc_count',
    'Claims that are not bound',
    claims,
    (one) => (isBound(one) ? undefined : ofClaim(one)),
    claimLabels,
  );
  const given = metrics.counter('retroactive_storageclass_total', 'Claims that got the default class later');
  const failed = metrics.counter(
    'retroactive_storageclass_errors_total',
    'Claims that could not be given the default class',
  );
  return {
    count: (of) => {
      counted = of;
    },
    retroactive: (result) => {
      given.inc();
      if (result === 'failed') failed.inc();
    },
  };
}

/** As Kubernetes' volume controller names plugins: it knows those alone whose volumes it can delete or empty. */
function pluginOf({ spec }: PersistentVolume): Readonly<Record<string, string>> {
  const name = spec?.hostPath !== undefined ? 'kubernetes.io/host-path' : spec?.nfs !== undefined ? NFS : 'N/A';
  return { plugin_name: name, volume_mode: spec?.volumeMode ?? 'Filesystem' };
}

const NFS = 'kubernetes.io/nfs';

/** How many have the same labels. */
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
