import type { Instant } from '@gantry/base';
import { localFolderOf, parseQuantity, type PersistentVolume, type Pod } from '@gantry/objects';
import { type Action, eventAbout } from './action.ts';
import { planPhase, planUnbinding } from './bind.ts';

/** The namespace of recycler pods, as in Kubernetes. */
export const RECYCLER_NAMESPACE = 'default';
const NAME_PREFIX = 'recycler-for-';
const IMAGE = 'registry.k8s.io/build-image/debian-base:bookworm-v1.0.6';
const SCRUB = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1';
const GIBIBYTE = 2n ** 30n * 1_000_000_000n;
/** Seconds that a recycler pod has per GiB, and the minimum; Kubernetes' defaults. */
const SECONDS_PER_GIBIBYTE = 30;
const LEAST_SECONDS = { hostPath: 60, nfs: 300 } as const;

/** The state of the pod that empties a volume. */
export type Recycler =
  | { readonly kind: 'none' }
  /** A pod with that name that this leader has not created: its effect on the volume is unknown. */
  | { readonly kind: 'unknown'; readonly pod: Pod }
  | { readonly kind: 'own'; readonly pod: Pod }
  /** The pod that this leader created has been deleted. */
  | { readonly kind: 'deleted' }
  /** The last attempt failed; the next one is at this time. */
  | { readonly kind: 'failed'; readonly nextAt: Instant };

export function recyclerName({ metadata }: PersistentVolume): string {
  return `${NAME_PREFIX}${metadata.name ?? ''}`;
}

/** The name of the volume that a recycler pod empties, from the pod's name. */
export function recycledVolume({ metadata }: Pod): string | undefined {
  const { namespace, name = '' } = metadata;
  return namespace === RECYCLER_NAMESPACE && name.startsWith(NAME_PREFIX) ? name.slice(NAME_PREFIX.length) : undefined;
}

/**
 * Whether a pod can delete the content of a volume. It cannot for an agent's folder: its path on the host differs from the path of the
 * volume, so the pod would empty another folder.
 */
export function isRecyclable(volume: PersistentVolume): boolean {
  return sourceOf(volume.spec) !== undefined && localFolderOf(volume) === undefined;
}

/**
 * Empties a released volume with a pod, then makes it available again. A pod that this leader has not created is deleted and replaced,
 * because users may create pods with that name.
 */
export function planRecycling(volume: PersistentVolume, recycler: Recycler): readonly Action[] {
  switch (recycler.kind) {
    case 'none':
      return [{ kind: 'createRecycler', volume, pod: recyclerPod(volume) }];
    case 'failed':
      return [];
    case 'deleted':
      return failed(volume, 'failed to recycle volume: recycler pod was deleted');
    case 'unknown': {
      if (recycler.pod.metadata.deletionTimestamp !== undefined) return [];
      return [remove(recycler.pod), ...failed(volume, 'old recycler pod found, will retry later')];
    }
    case 'own':
      return planByPhase(volume, recycler.pod);
  }
}

function planByPhase(volume: PersistentVolume, pod: Pod): readonly Action[] {
  const { phase, message = '' } = pod.status ?? {};
  if (phase === 'Succeeded') {
    const recycled = eventAbout(volume, 'Normal', 'VolumeRecycled', 'Volume recycled');
    return [remove(pod), recycled, ...planUnbinding(volume), { kind: 'forgetRecycler', volume }];
  }
  if (phase !== 'Failed') return [];
  const why = message === '' ? 'pod failed, pod.Status.Message unknown' : message;
  return [remove(pod), ...failed(volume, `failed to recycle volume: ${why}`)];
}

/** The failure stays visible during retries. */
function failed(volume: PersistentVolume, why: string): readonly Action[] {
  const message = `Recycle failed: ${why}`;
  const report =
    volume.status?.phase === 'Failed'
      ? []
      : [...planPhase(volume, 'Failed', message), eventAbout(volume, 'Warning', 'VolumeFailedRecycle', message)];
  return [{ kind: 'delayRecycler', volume }, ...report];
}

function remove(pod: Pod): Action {
  return { kind: 'deleteRecycler', pod };
}

function recyclerPod(volume: PersistentVolume): Pod {
  const source = sourceOf(volume.spec);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { namespace: RECYCLER_NAMESPACE, name: recyclerName(volume) },
    spec: {
      activeDeadlineSeconds: secondsFor(volume),
      restartPolicy: 'Never',
      volumes: [{ name: 'vol', ...source }],
      containers: [
        {
          name: 'pv-recycler',
          image: IMAGE,
          command: ['/bin/sh'],
          args: ['-c', SCRUB],
          volumeMounts: [{ name: 'vol', mountPath: '/scrub' }],
        },
      ],
    },
  };
}

function sourceOf(spec: PersistentVolume['spec']) {
  if (spec?.hostPath !== undefined) return { hostPath: { path: spec.hostPath.path } };
  if (spec?.nfs !== undefined) return { nfs: { server: spec.nfs.server, path: spec.nfs.path } };
  return undefined;
}

function secondsFor({ spec }: PersistentVolume): number {
  const size = parseQuantity(spec?.capacity?.['storage'] ?? '0').nano / GIBIBYTE;
  const least = spec?.hostPath === undefined ? LEAST_SECONDS.nfs : LEAST_SECONDS.hostPath;
  return Math.max(least, Number(size) * SECONDS_PER_GIBIBYTE);
}
