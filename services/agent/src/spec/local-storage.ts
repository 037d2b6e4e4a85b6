import {
  canonicalQuantity,
  formatQuantity,
  parseQuantity,
  addQuantity,
  type Pod,
  quantityValue,
} from '@gantry/objects';
import { mainContainersOf } from './pod-containers.ts';

/** Bytes on the host's disk that belong to a pod. */
export interface PodStorage {
  /** By the name of the emptyDir; those in memory are not among them. */
  readonly emptyDirs: ReadonlyMap<string, number>;
  /** The files that the agent gives the pod and its containers may write to: hosts, resolver, termination messages. */
  readonly files: number;
  /** By the name of the container: its writable layer and its logs. */
  readonly containers: ReadonlyMap<string, number>;
}

/** The same with all inodes that belong to the pod. */
export interface PodUsage extends PodStorage {
  readonly inodes: number;
}

/** A limit of local storage that a pod sets. */
export function limitsStorage(pod: Pod): boolean {
  const hasSize = emptyDirsOnDisk(pod).some(({ limit }) => limit !== undefined);
  return hasSize || mainContainersOf(pod).some(({ container }) => storageLimit(container) !== undefined);
}

/** The emptyDirs of a pod that lie on the disk. */
export function emptyDirsOnDisk({
  spec,
}: Pod): readonly { readonly name: string; readonly limit: string | undefined }[] {
  return (spec?.volumes ?? []).flatMap(({ name, emptyDir }) => {
    if (emptyDir === undefined || (emptyDir.medium ?? '') !== '') return [];
    const { sizeLimit = '0' } = emptyDir;
    return [{ name, limit: quantityValue(sizeLimit) > 0 ? canonicalQuantity(sizeLimit) : undefined }];
  });
}

/**
 * Why a pod is evicted for what it has written to the disk, in kubelet's words and order (pkg/kubelet/eviction): an emptyDir above
 * its `sizeLimit`, all together above the limits of the containers, or one container above its own. Undefined when it is within
 * its limits.
 */
export function storageExcess(pod: Pod, storage: PodStorage): string | undefined {
  for (const { name, limit } of emptyDirsOnDisk(pod)) {
    if (limit !== undefined && (storage.emptyDirs.get(name) ?? 0) > quantityValue(limit)) {
      return `Usage of EmptyDir volume "${name}" exceeds the limit "${limit}". `;
    }
  }
  const containers = mainContainersOf(pod).map(({ container }) => container);
  const limits = containers.flatMap((container) => storageLimit(container) ?? []);
  const total = limits.reduce(
    (sum, limit) => formatQuantity(addQuantity(parseQuantity(sum), parseQuantity(limit))),
    '0',
  );
  const used = [storage.files, ...storage.emptyDirs.values(), ...storage.containers.values()].reduce(
    (sum, bytes) => sum + bytes,
    0,
  );
  // A container without a limit makes the pod's one that of the others, as in kubelet.
  if (limits.length > 0 && used > quantityValue(total)) {
    return `Pod ephemeral local storage usage exceeds the total limit of containers ${total}. `;
  }
  for (const container of containers) {
    const limit = storageLimit(container);
    if (limit !== undefined && (storage.containers.get(container.name) ?? 0) > quantityValue(limit)) {
      return `Container ${container.name} exceeded its local ephemeral storage limit "${limit}". `;
    }
  }
  return undefined;
}

function storageLimit({ resources }: { readonly resources?: { readonly limits?: Readonly<Record<string, string>> } }) {
  const limit = resources?.limits?.['ephemeral-storage'];
  return limit === undefined || quantityValue(limit) === 0 ? undefined : canonicalQuantity(limit);
}
