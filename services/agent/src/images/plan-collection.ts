import type { Instant } from '@gantry/base';
import type { ListedImage } from '../runtime/images.ts';
import { repositoryOf, tagOf } from './image-name.ts';
import type { PullRecord } from './pulled-images.ts';

/** When images are collected: percentages of the disk that is in use. */
export interface CollectionPolicy {
  /** From here on images are removed; 100 for never. */
  readonly highPercent: number;
  /** Down to here. */
  readonly lowPercent: number;
  /** An image that was used within this time stays: a container may be about to use it. */
  readonly minAgeMs: number;
}

/** An image that no container uses. */
export interface UnusedImage extends ListedImage {
  readonly lastUsed: Instant;
}

/**
 * Whether this cluster has brought an image to its host and nothing else claims it: it was not there before any of the pulls, and has no name but
 * theirs. A name is a tag that was pulled, or a digest in a repository from which was pulled.
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

/** How many bytes are to be freed; 0 below the high threshold (kubelet's `GarbageCollect`). */
export function bytesToFree(
  { highPercent, lowPercent }: Omit<CollectionPolicy, 'minAgeMs'>,
  { availableBytes, capacityBytes }: { readonly availableBytes: number; readonly capacityBytes: number },
): number {
  if (highPercent === 100 || usedPercent({ availableBytes, capacityBytes }) < highPercent) return 0;
  return Math.max(0, Math.floor((capacityBytes * (100 - lowPercent)) / 100) - availableBytes);
}

/** In whole percent, as the kubelet counts it. */
export function usedPercent(disk: { readonly availableBytes: number; readonly capacityBytes: number }): number {
  return 100 - Math.floor((Math.min(disk.availableBytes, disk.capacityBytes) * 100) / disk.capacityBytes);
}

/** The images to try, those that were used the longest time ago first. */
export function planCollection(
  images: readonly UnusedImage[],
  { minAgeMs }: Pick<CollectionPolicy, 'minAgeMs'>,
  now: Instant,
): readonly UnusedImage[] {
  return images
    .filter(({ lastUsed }) => now - lastUsed >= minAgeMs)
    .toSorted((one, other) => one.lastUsed - other.lastUsed || (one.id < other.id ? -1 : 1));
}
