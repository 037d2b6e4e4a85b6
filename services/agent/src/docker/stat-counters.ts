import type { ContainerStats } from '../runtime/stats.ts';

/** The kernel's names of a control group's counters of memory. */
export interface MemoryCounters {
  readonly rss: string;
  readonly cache: string;
  readonly mappedFiles: string;
  readonly pageFaults: string;
  readonly majorPageFaults: string;
}

/** Of control groups of version 2. */
export const UNIFIED_MEMORY: MemoryCounters = {
  rss: 'anon',
  cache: 'file',
  mappedFiles: 'file_mapped',
  pageFaults: 'pgfault',
  majorPageFaults: 'pgmajfault',
};

/** Of version 1: those of a group with the groups in it. */
export const LEGACY_MEMORY: MemoryCounters = {
  rss: 'total_rss',
  cache: 'total_cache',
  mappedFiles: 'total_mapped_file',
  pageFaults: 'total_pgfault',
  majorPageFaults: 'total_pgmajfault',
};

/** Nothing where a counter is missing. */
export function memoryStats(
  names: MemoryCounters,
  counter: (name: string) => number | undefined,
): Pick<ContainerStats, 'memory'> {
  const rssBytes = counter(names.rss);
  const cacheBytes = counter(names.cache);
  const mappedFileBytes = counter(names.mappedFiles);
  const pageFaults = counter(names.pageFaults);
  const majorPageFaults = counter(names.majorPageFaults);
  const isKnown = rssBytes !== undefined && cacheBytes !== undefined && mappedFileBytes !== undefined;
  if (!isKnown || pageFaults === undefined || majorPageFaults === undefined) return {};
  return { memory: { rssBytes, cacheBytes, mappedFileBytes, pageFaults, majorPageFaults } };
}

/** Nothing before the first period: the kernel counts them only where there is a limit. */
export function throttlingStats(
  periods = 0,
  throttledPeriods = 0,
  throttledNanos = 0,
): Pick<ContainerStats, 'throttling'> {
  return periods === 0 ? {} : { throttling: { periods, throttledPeriods, throttledNanos } };
}
