import { IndexedObjects, type ReconcileKey } from '@gantry/controller-runtime';
import {
  BIND_COMPLETED,
  claimsOfPod,
  classOfClaim,
  classOfVolume,
  DEFAULT_STORAGE_CLASS_MARKS,
  formatKey,
  hasEnded,
  keyOf,
  parseKey,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type Pod,
  type StorageClass,
} from '@gantry/objects';
import { recycledVolume } from './recycle.ts';

/** The volumes, claims and pods with claims that a term knows. Methods return the keys that a change affects. */
export class KnownObjects {
  readonly volumes = new IndexedObjects<PersistentVolume, 'claim' | 'freeOfClass'>({
    claim: (volume) => (volume.spec?.claimRef === undefined ? [] : [claimKeyOf(volume)]),
    freeOfClass: (volume) => (volume.spec?.claimRef === undefined ? [classOfVolume(volume)] : []),
  });
  readonly claims = new IndexedObjects<PersistentVolumeClaim, 'volume' | 'unboundOfClass'>({
    volume: ({ spec }) => ((spec?.volumeName ?? '') === '' ? [] : [spec?.volumeName ?? '']),
    unboundOfClass: (claim) => (isUnbound(claim) ? [classOfClaim(claim)] : []),
  });
  readonly pods = new IndexedObjects<Pod, 'claim'>({
    claim: (pod) => claimsOfPod(pod).map((name) => formatKey({ namespace: pod.metadata.namespace ?? '', name })),
  });

  clear(): void {
    this.volumes.clear();
    this.claims.clear();
    this.pods.clear();
  }

  /** Takes a change of a volume: affects the volume, claims that it names or that name it, and claims that look for a volume. */
  takeVolume(volume: PersistentVolume | undefined, old: PersistentVolume | undefined): readonly ReconcileKey[] {
    this.volumes.take(volume, old);
    const states = [volume, old].filter((state) => state !== undefined);
    const { name = '' } = states[0]?.metadata ?? {};
    const named = states.filter(({ spec }) => spec?.claimRef !== undefined).map(claimKeyOf);
    const naming = this.claims.in('volume', name).map((claim) => formatKey(keyOf(claim)));
    const looking = volume === undefined || !isFree(volume) ? [] : this.#unbound(classOfVolume(volume));
    return [volumeKey(name), ...claimKeys([...named, ...naming, ...looking])];
  }

  /** Takes a change of a claim: affects the claim, and volumes that it names or that name it. */
  takeClaim(claim: PersistentVolumeClaim | undefined, old: PersistentVolumeClaim | undefined): readonly ReconcileKey[] {
    this.claims.take(claim, old);
    const states = [claim, old].filter((state) => state !== undefined);
    const [one] = states;
    if (one === undefined) return [];
    const key = formatKey(keyOf(one));
    const named = states.map(({ spec }) => spec?.volumeName ?? '').filter((name) => name !== '');
    const naming = this.volumes.in('claim', key).map(({ metadata }) => metadata.name ?? '');
    return [...claimKeys([key]), ...[...new Set([...named, ...naming])].map(volumeKey)];
  }

  /** Takes a change of a pod: affects its claims that wait for a consumer, and volumes that wait for its end or that it empties. */
  takePod(pod: Pod | undefined, old: Pod | undefined): readonly ReconcileKey[] {
    const subject = pod ?? old;
    if (subject === undefined) return [];
    const recycled = recycledVolume(subject);
    const emptied = recycled === undefined ? [] : [volumeKey(recycled)];
    const names = claimsOfPod(subject);
    if (names.length === 0) return emptied;
    this.pods.take(pod, old);
    if (useOf(pod) === useOf(old)) return emptied;
    const { namespace = '' } = subject.metadata;
    const keys = names.map((name) => formatKey({ namespace, name }));
    const waiting = keys.filter((key) => {
      const claim = this.claims.get(key);
      return claim !== undefined && isUnbound(claim);
    });
    const volumes = keys.flatMap((key) => this.volumes.in('claim', key));
    return [...emptied, ...claimKeys(waiting), ...volumes.map(({ metadata }) => volumeKey(metadata.name ?? ''))];
  }

  /** Keys affected by a change of a class: its unbound claims, and those without a class if it is the default. */
  unboundOf(storageClass: StorageClass): readonly ReconcileKey[] {
    const { name = '' } = storageClass.metadata;
    return claimKeys([...this.#unbound(name), ...(isDefault(storageClass) ? this.#unbound('') : [])]);
  }

  #unbound(className: string): readonly string[] {
    return this.claims.in('unboundOfClass', className).map((claim) => formatKey(keyOf(claim)));
  }
}

/** The default class. If there are several, Kubernetes' choice: the newest; among equally old ones, the first by name. */
export function defaultClassOf(classes: readonly StorageClass[]): StorageClass | undefined {
  const createdAt = ({ metadata }: StorageClass) => Date.parse(metadata.creationTimestamp ?? '');
  const [first] = classes
    .filter(isDefault)
    .sort((a, b) => createdAt(b) - createdAt(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  return first;
}

/** `namespace/name` of the claim in a volume's reference. */
export function claimKeyOf({ spec }: PersistentVolume): string {
  return formatKey({ namespace: spec?.claimRef?.namespace ?? '', name: spec?.claimRef?.name ?? '' });
}

function isDefault({ metadata }: StorageClass): boolean {
  return DEFAULT_STORAGE_CLASS_MARKS.some((annotation) => metadata.annotations?.[annotation] === 'true');
}

function isUnbound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return metadata.annotations?.[BIND_COMPLETED] === undefined && (spec?.volumeName ?? '') === '';
}

function isFree({ spec, status }: PersistentVolume): boolean {
  return spec?.claimRef === undefined && status?.phase === 'Available';
}

function useOf(pod: Pod | undefined): 'none' | 'unscheduled' | 'scheduled' {
  if (pod === undefined || hasEnded(pod)) return 'none';
  return (pod.spec?.nodeName ?? '') === '' ? 'unscheduled' : 'scheduled';
}

function volumeKey(name: string): ReconcileKey {
  return { group: '', kind: 'PersistentVolume', namespace: '', name };
}

function claimKeys(keys: readonly string[]): readonly ReconcileKey[] {
  return [...new Set(keys)].map((key) => ({ group: '', kind: 'PersistentVolumeClaim', ...parseKey(key) }));
}
