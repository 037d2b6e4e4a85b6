import type { Instant } from '@gantry/base';
import type { ListedImage } from '../runtime/images.ts';
import { repositoryOf, tagOf } from './image-name.ts';
import type { PullRecord } from './pulled-images.ts';

/** When images are collected, as percentages of the disk in use. */
export interface CollectionPolicy {
  /** Images are removed from this percentage on; 100: never. */
  readonly highPercent: number;
  /** Images are removed until this percentage is reached. */
  readonly lowPercent: number;
  /** Images used within this time are kept: a container may be about to use them. */
  readonly minAgeMs: number;
}

/** An image that no container uses. */
export interface UnusedImage extends ListedImage {
  readonly lastUsed: Instant;
}

/**
 * Whether this cluster brought the image to the host and nothing else claims it: no pull found the image already there, and it
 * has no other names than those of the pulls. A name is a pulled tag, or a digest in a repository of a pull.
 */
export function isBrought({ names }: Pick<ListedImage, 'names'>, records: readonly PullRecord[]): boolean {
  if (records.length === 0 || records.some(({ origin }) => origin !== 'pulled')) return false;
  const repositories = new Set(records.map(({ reference }) => repositoryOf(reference)));
  const tags = new Set(records.map(({ reference }) => tagged(reference)));
  return names.every((name) => (name.includes('@') ? repositories.has(repositoryOf(name)) : tags.has(tagged(name))));
}

function tagged(reference: string): string {
  return `${repositoryOf(reference)}:${reference.includes('@') ? '' : tagOf(reference)}`;
}

/** The number of bytes to free; 0 below the high threshold (kubelet's `GarbageCollect`). */
export function bytesToFree(
  { highPercent, lowPercent }: Omit<CollectionPolicy, 'minAgeMs'>,
  { availableBytes, capacityBytes }: { readonly availableBytes: number; readonly capacityBytes: number },
): number {
  if (highPercent === 100 || usedPercent({ availableBytes, capacityBytes }) < highPercent) return 0;
  return Math.max(0, Math.floor((capacityBytes * (100 - lowPercent)) / 100) - availableBytes);
}

/** The used share of the disk in whole percent, rounded like the kubelet's. */
export function usedPercent(disk: { readonly availableBytes: number; readonly capacityBytes: number }): number {
  return 100 - Math.floor((Math.min(disk.availableBytes, disk.capacityBytes) * 100) / disk.capacityBytes);
}

/** The images to remove, least recently used first. */
export function planCollection(
  images: readonly UnusedImage[],
  { minAgeMs }: Pick<CollectionPolicy, 'minAgeMs'>,
  now: Instant,
): readonly UnusedImage[] {
  return images
    .filter(({ lastUsed }) => now - lastUsed >= minAgeMs)
    .toSorted((one, other) => one.lastUsed - other.lastUsed || (one.id < other.id ? -1 : 1));
}
