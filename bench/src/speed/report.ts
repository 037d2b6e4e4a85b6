import { quantile } from '../statistics.ts';
import type { Cost } from './server.ts';

/** One measurement at one endpoint. */
export interface Row {
  readonly what: string;
  readonly endpoint: string;
  readonly count: number;
  readonly lagsMs: readonly number[];
  readonly cost: Cost;
}

/** A row as numbers, for programs. CPU time is per operation (for watches: per event). */
export interface Result {
  readonly what: string;
  readonly endpoint: string;
  readonly count: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly apiserverCpuMs: number;
  readonly etcdCpuMs: number;
  readonly peakMib: number;
}

export function resultOf({ what, endpoint, count, lagsMs, cost }: Row): Result {
  return {
    what,
    endpoint,
    count,
    perSecond: rounded(count / cost.seconds, 1),
    p50Ms: rounded(quantile(lagsMs, 0.5), 2),
    p99Ms: rounded(quantile(lagsMs, 0.99), 2),
    apiserverCpuMs: rounded(cost.apiserverMs / count, 4),
    etcdCpuMs: rounded(cost.etcdMs / count, 4),
    peakMib: Math.round(cost.peakMib),
  };
}

export const HEADING = [
  '| what | endpoint | count | per second | p50 | p99 | apiservers, CPU each | etcd, CPU each | peak of an apiserver |',
  '| --- | --- | --- | --- | --- | --- | --- | --- | --- |',
].join('\n');

export function lineOf(result: Result): string {
  const { what, endpoint, count, perSecond, p50Ms, p99Ms, apiserverCpuMs, etcdCpuMs, peakMib } = result;
  const times = `${p50Ms} ms | ${p99Ms} ms | ${apiserverCpuMs} ms | ${etcdCpuMs} ms`;
  return `| ${what} | ${endpoint} | ${count} | ${perSecond} | ${times} | ${peakMib} MiB |`;
}

function rounded(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
