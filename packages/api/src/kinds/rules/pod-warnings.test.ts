import { expect, it } from 'vitest';
import { podWarnings } from './pod-warnings.ts';

it('warns of what is said twice or in vain', () => {
  const warnings = podWarnings(
    {
      terminationGracePeriodSeconds: -1,
      nodeSelector: { 'beta.kubernetes.io/os': 'linux' },
      imagePullSecrets: [{ name: 'a' }, { name: 'a' }, {}],
      containers: [
        {
          name: 'c',
          env: [{ name: 'A' }, { name: 'B' }, { name: 'A' }],
          ports: [
            { containerPort: 80, protocol: 'TCP' },
            { containerPort: 80, protocol: 'UDP' },
            { containerPort: 80, protocol: 'TCP' },
          ],
          resources: { requests: { memory: '100m', cpu: '100m' } },
        },
      ],
    },
    'spec',
  );
  expect(warnings).toEqual([
    'spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead',
    'spec.imagePullSecrets[1].name: duplicate name "a"',
    'spec.imagePullSecrets[2].name: invalid empty name ""',
    'spec.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1',
    'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped when using apply',
    'spec.containers[0].ports[2]: duplicate port definition with spec.containers[0].ports[0]',
    'spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer',
  ]);
});

it('has nothing to say of an ordinary pod', () => {
  expect(podWarnings({ containers: [{ name: 'c', image: 'i' }] }, 'spec')).toEqual([]);
  expect(podWarnings(undefined, 'spec')).toEqual([]);
});
