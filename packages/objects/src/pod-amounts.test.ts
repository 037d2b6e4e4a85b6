import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from './generated/types.ts';
import { containerAmounts, podAmounts, podAmountsWithOverhead } from './pod-amounts.ts';
import { parseAmounts, podLimits, podRequests } from './pod-requests.ts';

const container = (requests: Record<string, string>, limits = requests, restartPolicy?: string): Container => ({
  ...{ name: 'c', image: 'i', resources: { requests, limits } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});
const memoryOf = (...memory: string[]) =>
  containerAmounts({ containers: memory.map((amount) => container({ memory: amount })) }, 'requests');

describe('exact amounts of a pod', () => {
  it.each([
    [['128M'], '128M'],
    [['64Mi', '64Mi'], '128Mi'],
    [['64Mi', '64M'], '128036Ki'],
    [['64M', '64Mi'], '131108864'],
    [['1G', '1Gi'], '2073741824'],
    [['0', '64Mi'], '64Mi'],
    [['64Mi', '0'], '64Mi'],
    [['500m', '500m'], '1'],
    [['5Ei', '5Ei'], '9223372036854775807'],
  ])('of %j are %s, in the format of the first', (amounts, expected) => {
    expect(memoryOf(...amounts)).toEqual({ memory: expected });
  });

  it('are written as the API writes them', () => {
    expect(containerAmounts({ containers: [container({ cpu: '0.5' })] }, 'requests')).toEqual({ cpu: '500m' });
    expect(podAmountsWithOverhead({ containers: [], overhead: { cpu: '0.5' } }, 'requests')).toEqual({ cpu: '500m' });
  });

  it('have the format of the container where an init container starts beside sidecars', () => {
    const initContainers = [container({ memory: '1Gi' }, {}, 'Always'), container({ memory: '1G' })];
    expect(containerAmounts({ containers: [], initContainers }, 'requests')).toEqual({ memory: '2073741824' });
  });

  it('are pod-level ones where the pod has them, and with its overhead on request', () => {
    const spec: PodSpec = {
      containers: [container({ cpu: '1', memory: '1Mi', 'example.com/gpu': '1' })],
      resources: { requests: { cpu: '2', 'example.com/gpu': '5' } },
      overhead: { cpu: '250m', memory: '1Ki' },
    };
    expect(podAmounts(spec, 'requests')).toEqual({ cpu: '2', memory: '1Mi', 'example.com/gpu': '1' });
    expect(podAmountsWithOverhead(spec, 'requests')).toEqual({
      cpu: '2250m',
      memory: '1025Ki',
      'example.com/gpu': '1',
    });
  });

  it('have overhead only on limits that there are', () => {
    const spec: PodSpec = {
      containers: [container({}, { cpu: '1', memory: '0' })],
      overhead: { cpu: '1', memory: '1' },
    };
    expect(podAmountsWithOverhead(spec, 'limits')).toEqual({ cpu: '2', memory: '0' });
  });
});

it('exact amounts of any pod are those that the scheduler counts', () => {
  const amount = fc.constantFrom('1', '2', '7', '1Ki', '3k', '500');
  const list = fc.dictionary(fc.constantFrom('cpu', 'memory', 'example.com/gpu'), amount, { maxKeys: 3 });
  const any = fc
    .tuple(list, list, fc.constantFrom(undefined, 'Always'))
    .map(([requests, limits, restartPolicy]) => container(requests, limits, restartPolicy));
  const all = fc.array(any, { maxLength: 3 });
  fc.assert(
    fc.property(all, all, list, list, (containers, initContainers, whole, overhead) => {
      const spec: PodSpec = { containers, initContainers, overhead, resources: { requests: whole, limits: whole } };
      const pod: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec };
      expect(parseAmounts(podAmountsWithOverhead(spec, 'requests'))).toEqual(podRequests(pod));
      expect(parseAmounts(podAmountsWithOverhead(spec, 'limits'))).toEqual(podLimits(pod));
    }),
  );
});
