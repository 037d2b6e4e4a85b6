import {
  canonicalQuantity,
  formatQuantity,
  parseQuantity,
  addQuantity,
  type Pod,
  quantityValue,
} from '@gantry/objects';
import { mainContainersOf } from './pod-containers.ts';

/** A pod's bytes on the host's disk. */
export interface PodStorage {
  /** Bytes by name of emptyDir, without those in memory. */
  readonly emptyDirs: ReadonlyMap<string, number>;
  /** Bytes of the files that the agent creates for the pod and that containers may write to: hosts, resolver, termination messages. */
  readonly files: number;
  /** Bytes of writable layer and logs, by container name. */
  readonly containers: ReadonlyMap<string, number>;
}

/** A pod's bytes and inodes on the host's disk. */
export interface PodUsage extends PodStorage {
  readonly inodes: number;
}

/** Whether a pod sets a limit for local storage. */
export function limitsStorage(pod: Pod): boolean {
  const hasSize = emptyDirsOnDisk(pod).some(({ limit }) => limit !== undefined);
  return hasSize || mainContainersOf(pod).some(({ container }) => storageLimit(container) !== undefined);
}

/** The emptyDirs of a pod that are on disk. */
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
 * Why a pod is evicted for its disk usage, with the kubelet's messages and order of checks (pkg/kubelet/eviction): an emptyDir above its
 * `sizeLimit`, the pod above the sum of its containers' limits, or a container above its limit. Undefined within all limits.
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
  // Like in the kubelet, the pod's limit is the sum of existing limits, even if some containers have none.
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
