import type { Figure } from '../figures.ts';
import { judge } from '../limits.ts';
import { quantile } from '../statistics.ts';
import type { Cost } from './server.ts';

/** One measurement at one endpoint. */
export interface Row {
  readonly what: string;
  readonly endpoint: string;
  readonly count: number;
  readonly lagsMs: readonly number[];
  readonly cost: Cost;
  /** Of lists: their size, NaN if unknown, how many at once, and the memory of the largest server before any list. */
  readonly list?: { readonly bytes: number; readonly clients: number; readonly restMib: number };
  /** The most that is asked of CPU each and of the p99. */
  readonly asked?: { readonly cpuMs: number; readonly p99Ms: number };
}

/** What 8 lists at once may take above the memory of rest. */
const MAX_LISTS_MIB = 300;

export const HEADING = [
  '| what | endpoint | count | per second | p50 | p99 | apiservers, CPU each | etcd, CPU each | peak of an apiserver |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
].join('\n');

/** CPU time is per operation; of watches, per event. */
export function lineOf(row: Row): string {
  const { what, endpoint, count, list, cost } = row;
  const { perSecond, p50Ms, p99Ms, apiserverMs, etcdMs } = numbersOf(row);
  const size = list === undefined || Number.isNaN(list.bytes) ? '' : ` (${(list.bytes / 1e6).toFixed(0)} MB)`;
  const times = `${p50Ms.toFixed(2)} ms | ${p99Ms.toFixed(2)} ms | ${apiserverMs.toFixed(4)} ms | ${etcdMs.toFixed(4)} ms`;
  const above = list === undefined ? '' : `, ${aboveRest(cost, list.restMib).toFixed(0)} above rest`;
  return `| ${what}${size} | ${endpoint} | ${count} | ${perSecond.toFixed(1)} | ${times} | ${cost.peakMib.toFixed(0)} MiB${above} |`;
}

/** The numbers that are compared between runs and servers. */
export function figuresOf(row: Row): readonly Figure[] {
  const { perSecond, p50Ms, p99Ms, apiserverMs, etcdMs } = numbersOf(row);
  const work = `${row.what}, ${row.endpoint}`;
  const cpu: Figure = { work, what: 'CPU', value: (apiserverMs + etcdMs) * 1000, unit: 'us', better: 'less' };
  const time = (what: string, value: number): Figure => ({ work, what, value, unit: 'ms', better: 'less' });
  if (row.list !== undefined) {
    const value = aboveRest(row.cost, row.list.restMib);
    const memory: Figure = { work, what: 'memory above rest', value, unit: 'MiB', better: 'less' };
    return [time('p50', p50Ms), cpu, memory];
  }
  const rate: Figure = { work, what: 'per second', value: perSecond, unit: '/s', better: 'more' };
  return row.what.startsWith('watch') ? [rate, cpu, time('p50', p50Ms), time('p99', p99Ms)] : [rate, cpu];
}

/** Whether a row keeps what is asked of it. */
export function verdictsOf(row: Row): readonly string[] {
  const { asked, list, cost } = row;
  const name = `${row.what}, ${row.endpoint}`;
  const { p99Ms, apiserverMs } = numbersOf(row);
  if (asked !== undefined) {
    return [
      judge(`${name}: CPU of the API servers`, apiserverMs * 1000, { atMost: asked.cpuMs * 1000 }, ' us'),
      judge(`${name}: p99`, p99Ms, { atMost: asked.p99Ms }, ' ms'),
    ];
  }
  if (list === undefined || list.clients === 1) return [];
  return [judge(`${name}: memory above rest`, aboveRest(cost, list.restMib), { atMost: MAX_LISTS_MIB }, ' MiB')];
}

function aboveRest({ peakMib }: Cost, restMib: number): number {
  return Math.max(0, peakMib - restMib);
}

function numbersOf({ count, lagsMs, cost }: Row) {
  return {
    perSecond: count / cost.seconds,
    p50Ms: quantile(lagsMs, 0.5),
    p99Ms: quantile(lagsMs, 0.99),
    apiserverMs: cost.apiserverMs / count,
    etcdMs: cost.etcdMs / count,
  };
}
