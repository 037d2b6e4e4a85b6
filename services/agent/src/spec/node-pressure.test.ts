import type { Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import { pod } from '../testing/pods.ts';
import { type NodePressure, pressureRejection } from './node-pressure.ts';

const of = (qosClass: string, change: Partial<Pod['spec']> = {}, annotations = {}) =>
  pod({ ...change }, { qosClass }, { annotations });
const tolerates = (taint: string) => ({
  tolerations: [{ key: `node.kubernetes.io/${taint}`, operator: 'Exists', effect: 'NoSchedule' }],
});
const refused = (conditions: string) => ({ reason: 'Evicted', message: `The node had condition: [${conditions}]. ` });

const ofFile = (pod: Pod): Pod => ({ ...pod, metadata: { ...pod.metadata, uid: '0'.repeat(32) } });

it.each<{ name: string; pod: Pod; pressures: NodePressure[]; expected: object | undefined }>([
  { name: 'no pressure takes all', pod: of('BestEffort'), pressures: [], expected: undefined },
  {
    name: 'memory refuses BestEffort',
    pod: of('BestEffort'),
    pressures: ['MemoryPressure'],
    expected: refused('MemoryPressure'),
  },
  { name: 'memory takes Burstable', pod: of('Burstable'), pressures: ['MemoryPressure'], expected: undefined },
  { name: 'memory takes Guaranteed', pod: of('Guaranteed'), pressures: ['MemoryPressure'], expected: undefined },
  {
    name: 'memory takes BestEffort that tolerates it',
    pod: of('BestEffort', tolerates('memory-pressure')),
    pressures: ['MemoryPressure'],
    expected: undefined,
  },
  {
    name: 'memory refuses BestEffort that tolerates something else',
    pod: of('BestEffort', tolerates('disk-pressure')),
    pressures: ['MemoryPressure'],
    expected: refused('MemoryPressure'),
  },
  {
    name: 'disk refuses Guaranteed',
    pod: of('Guaranteed'),
    pressures: ['DiskPressure'],
    expected: refused('DiskPressure'),
  },
  {
    name: 'disk refuses what tolerates it',
    pod: of('Guaranteed', tolerates('disk-pressure')),
    pressures: ['DiskPressure'],
    expected: refused('DiskPressure'),
  },
  {
    name: 'processes refuse Burstable',
    pod: of('Burstable'),
    pressures: ['PIDPressure'],
    expected: refused('PIDPressure'),
  },
  {
    name: 'two refuse all',
    pod: of('Guaranteed'),
    pressures: ['MemoryPressure', 'DiskPressure'],
    expected: refused('MemoryPressure DiskPressure'),
  },
  {
    name: 'critical pods are taken',
    pod: of('BestEffort', { priority: 2_000_000_000 }),
    pressures: ['MemoryPressure', 'DiskPressure'],
    expected: undefined,
  },
  {
    name: 'static pods are taken',
    pod: ofFile(of('BestEffort')),
    pressures: ['DiskPressure'],
    expected: undefined,
  },
  {
    name: 'pods of the API are not static, whatever their annotations say',
    pod: of('BestEffort', {}, { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': 'x' }),
    pressures: ['DiskPressure'],
    expected: refused('DiskPressure'),
  },
])('a node under pressure: $name', ({ pod: candidate, pressures, expected }) => {
  expect(pressureRejection(candidate, pressures)).toEqual(expected);
});
