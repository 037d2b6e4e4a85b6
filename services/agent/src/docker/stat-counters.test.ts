import { expect, it } from 'vitest';
import { legacyDeviceIo, unifiedDeviceIo } from './stat-counters.ts';

const SDA = { device: '8:0', readBytes: 4096, writtenBytes: 8192, reads: 1, writes: 2 };
const NVME = { device: '259:1', readBytes: 0, writtenBytes: 512, reads: 0, writes: 1 };

it('reads what a container has read and written in both versions, by device, without devices that it has not used', () => {
  const unified =
    '8:0 rbytes=4096 wbytes=8192 rios=1 wios=2 dbytes=0 dios=0\n7:0 rbytes=0 wbytes=0 rios=0 wios=0 dbytes=0 dios=0\n259:1 wbytes=512 wios=1\n';
  expect(unifiedDeviceIo(unified)).toEqual([SDA, NVME]);
  const bytes =
    '8:0 Read 4096\n8:0 Write 8192\n8:0 Sync 0\n8:0 Total 12288\n7:0 Read 0\n7:0 Write 0\n259:1 Write 512\nTotal 12800\n';
  const operations =
    '8:0 Read 1\n8:0 Write 2\n8:0 Sync 0\n8:0 Total 3\n7:0 Read 0\n7:0 Write 0\n259:1 Write 1\nTotal 4\n';
  expect(legacyDeviceIo(bytes, operations)).toEqual([SDA, NVME]);
});

it('finds nothing in groups without input and output', () => {
  expect([unifiedDeviceIo(''), legacyDeviceIo('Total 0\n', 'Total 0\n')]).toEqual([[], []]);
});
