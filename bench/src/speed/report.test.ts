import { afterEach, describe, expect, it } from 'vitest';
import { figuresOf, lineOf, type Row, verdictsOf } from './report.ts';

const cost = { seconds: 2, apiserverMs: 80, etcdMs: 20, peakMib: 800 };
const row: Row = { what: 'create', endpoint: 'gRPC', count: 100, lagsMs: [1, 2, 3], cost };
const list = { bytes: 45e6, clients: 8, restMib: 450 };

afterEach(() => {
  process.exitCode = undefined;
});

describe('a row', () => {
  it('of requests has a rate and the CPU of API servers and etcd', () => {
    expect(figuresOf(row)).toEqual([
      { work: 'create, gRPC', what: 'per second', value: 50, unit: '/s', better: 'more' },
      { work: 'create, gRPC', what: 'CPU', value: 1000, unit: 'us', better: 'less' },
    ]);
  });

  it('of lists shows their size and the memory above rest, and keeps it out of its name', () => {
    expect(lineOf({ ...row, what: 'list', list })).toMatch(/^\| list \(45 MB\) \|.*\| 800 MiB, 350 above rest \|$/);
    expect(figuresOf({ ...row, what: 'list', list }).map(({ work, what }) => [work, what])).toEqual([
      ['list, gRPC', 'p50'],
      ['list, gRPC', 'CPU'],
      ['list, gRPC', 'memory above rest'],
    ]);
  });

  it('of lists at once may take 300 MiB', () => {
    expect(verdictsOf({ ...row, list })).toEqual([
      '- MISSED: create, gRPC: memory above rest 350 MiB, asked is at most 300 MiB',
    ]);
    expect(process.exitCode).toBe(1);
    expect(verdictsOf({ ...row, list: { ...list, clients: 1 } })).toEqual([]);
  });

  it('of watches keeps what is asked, or does not', () => {
    const asked = { cpuMs: 1, p99Ms: 2 };
    expect(verdictsOf({ ...row, asked })).toEqual([
      '- kept: create, gRPC: CPU of the API servers 800 us, asked is at most 1000 us',
      '- MISSED: create, gRPC: p99 3 ms, asked is at most 2 ms',
    ]);
  });
});
