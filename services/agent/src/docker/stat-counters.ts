import type { ContainerStats, DeviceIo } from '../runtime/stats.ts';

/** The kernel's names of memory counters. */
export interface MemoryCounters {
  readonly rss: string;
  readonly cache: string;
  readonly mappedFiles: string;
  readonly pageFaults: string;
  readonly majorPageFaults: string;
}

/** For cgroup version 2. */
export const UNIFIED_MEMORY: MemoryCounters = {
  rss: 'anon',
  cache: 'file',
  mappedFiles: 'file_mapped',
  pageFaults: 'pgfault',
  majorPageFaults: 'pgmajfault',
};

/** For version 1: counters that include nested groups. */
export const LEGACY_MEMORY: MemoryCounters = {
  rss: 'total_rss',
  cache: 'total_cache',
  mappedFiles: 'total_mapped_file',
  pageFaults: 'total_pgfault',
  majorPageFaults: 'total_pgmajfault',
};

/** Empty when a counter is missing. */
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

/** Empty before the first period: the kernel counts periods only with a limit. */
export function throttlingStats(
  periods = 0,
  throttledPeriods = 0,
  throttledNanos = 0,
): Pick<ContainerStats, 'throttling'> {
  return periods === 0 ? {} : { throttling: { periods, throttledPeriods, throttledNanos } };
}

/** For version 2: parses `io.stat`, with one line per device. */
export function unifiedDeviceIo(text: string): readonly DeviceIo[] {
  return text.split('\n').flatMap((line) => {
    const [device = '', ...pairs] = line.split(' ');
    const counters = new Map(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), numberOf(pair)]));
    return used({
      device,
      readBytes: counters.get('rbytes') ?? 0,
      writtenBytes: counters.get('wbytes') ?? 0,
      reads: counters.get('rios') ?? 0,
      writes: counters.get('wios') ?? 0,
    });
  });
}

/** For version 1: parses two files with lines `<device> <operation> <number>`, one with bytes and one with operations. */
export function legacyDeviceIo(bytes: string, operations: string): readonly DeviceIo[] {
  const [byBytes, byOperations] = [countersOf(bytes), countersOf(operations)];
  const devices = new Set([...byBytes.keys()].map((key) => key.slice(0, key.indexOf(' '))));
  return [...devices].flatMap((device) =>
    used({
      device,
      readBytes: byBytes.get(`${device} Read`) ?? 0,
      writtenBytes: byBytes.get(`${device} Write`) ?? 0,
      reads: byOperations.get(`${device} Read`) ?? 0,
      writes: byOperations.get(`${device} Write`) ?? 0,
    }),
  );
}

function countersOf(text: string): ReadonlyMap<string, number> {
  return new Map([...text.matchAll(/^(\d+:\d+ \w+) (\d+)$/gm)].map(([, key = '', value]) => [key, Number(value)]));
}

function numberOf(pair: string): number {
  return Number(pair.slice(pair.indexOf('=') + 1));
}

/** Omits devices that the container has not used; a host may have many. */
function used(io: DeviceIo): readonly DeviceIo[] {
  return io.reads + io.writes > 0 ? [io] : [];
}
