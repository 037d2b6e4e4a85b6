import { IndexedObjects } from '@gantry/controller-runtime';
import {
  classOfClaim,
  classOfVolume,
  formatKey,
  isFullyBound,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
  waitsForConsumer,
} from '@gantry/objects';
import type { DelayedClaim, ClaimedVolumes } from './claimed-volumes.ts';

/** A claim as a pod's volumes name it. */
interface NamedClaim {
  readonly name: string;
  readonly origin: 'named' | 'made-for-pod';
}

/** The newest known versions of claims, volumes and storage classes. They come from the caches and from the responses to our own writes. */
export class VolumeKeeper {
  readonly volumes = new IndexedObjects<PersistentVolume, 'claim' | 'freeOfClass'>({
    claim: ({ spec }) =>
      spec?.claimRef === undefined
        ? []
        : [formatKey({ namespace: spec.claimRef.namespace ?? '', name: spec.claimRef.name ?? '' })],
    freeOfClass: (volume) => (volume.spec?.claimRef === undefined ? [classOfVolume(volume)] : []),
  });
  readonly claims = new IndexedObjects<PersistentVolumeClaim, never>({});
  readonly #classes = new Map<string, StorageClass>();

  /** Returns the volumes of a pod's claims, or undefined when it has no claims. `isUsed` says whether a pod on a node uses a claim. */
  claimedVolumes(pod: Pod, isUsed: (claimKey: string) => boolean): ClaimedVolumes | undefined {
    const named = namedClaims(pod);
    if (named.length === 0) return undefined;
    const { namespace = '' } = pod.metadata;
    const claims: PersistentVolumeClaim[] = [];
    for (const one of named) {
      const claim = this.claims.get(formatKey({ namespace, name: one.name }));
      const reason = whyUnusable(pod, one, claim);
      if (reason !== undefined) return { kind: 'conflict', reason };
      if (claim !== undefined) claims.push(claim);
    }
    const unbound = claims.filter((claim) => !isFullyBound(claim));
    const delayed = unbound.map((claim) => this.#delayed(claim)).filter((one) => one !== undefined);
    if (delayed.length < unbound.length)
      return { kind: 'conflict', reason: 'pod has unbound immediate PersistentVolumeClaims' };
    const isTaken = claims.some(
      ({ metadata, spec }) =>
        spec?.accessModes?.includes('ReadWriteOncePod') === true &&
        isUsed(formatKey({ namespace, name: metadata.name ?? '' })),
    );
    return {
      kind: 'claims',
      bound: claims.filter(isFullyBound).map(({ spec }) => this.volumes.get(spec?.volumeName ?? '')),
      delayed,
      exclusive: isTaken ? 'in-use' : 'free',
    };
  }

  /** Takes a change of a storage class that the cache reports. */
  takeClass(storageClass: StorageClass | undefined, old: StorageClass | undefined): void {
    const { name = '' } = (storageClass ?? old)?.metadata ?? {};
    if (storageClass === undefined) this.#classes.delete(name);
    else this.#classes.set(name, storageClass);
  }

  #delayed(claim: PersistentVolumeClaim): DelayedClaim | undefined {
    const className = classOfClaim(claim);
    const storageClass = this.#classes.get(className);
    if (storageClass === undefined || !waitsForConsumer(storageClass)) return undefined;
    if ((claim.spec?.volumeName ?? '') !== '') return undefined;
    const { namespace = '', name = '' } = claim.metadata;
    const reserved = this.volumes.in('claim', formatKey({ namespace, name }));
    return { claim, storageClass, volumes: [...reserved, ...this.volumes.in('freeOfClass', className)] };
  }
}

function namedClaims({ metadata, spec }: Pod): readonly NamedClaim[] {
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim, ephemeral }): readonly NamedClaim[] => {
    if (persistentVolumeClaim !== undefined) return [{ name: persistentVolumeClaim.claimName, origin: 'named' }];
    return ephemeral === undefined ? [] : [{ name: `${metadata.name ?? ''}-${name}`, origin: 'made-for-pod' }];
  });
}

/** Kubernetes' reason why no pod can start with the claim. Returns undefined when one can. */
function whyUnusable(
  pod: Pod,
  { name, origin }: NamedClaim,
  claim: PersistentVolumeClaim | undefined,
): string | undefined {
  const quoted = JSON.stringify(name);
  if (claim === undefined) {
    if (origin === 'named') return `persistentvolumeclaim ${quoted} not found`;
    return `waiting for ephemeral volume controller to create the persistentvolumeclaim ${quoted}`;
  }
  const { spec, status, metadata } = claim;
  if (status?.phase === 'Lost')
    return `persistentvolumeclaim ${quoted} bound to non-existent persistentvolume ${JSON.stringify(spec?.volumeName ?? '')}`;
  if (metadata.deletionTimestamp !== undefined) return `persistentvolumeclaim ${quoted} is being deleted`;
  const isMade = metadata.ownerReferences?.some(
    ({ uid, controller }) => uid === pod.metadata.uid && controller === true,
  );
  if (origin === 'named' || isMade === true) return undefined;
  const { namespace = '', name: podName = '' } = pod.metadata;
  return `PVC ${namespace}/${name} was not created for pod ${namespace}/${podName} (pod is not owner)`;
}
