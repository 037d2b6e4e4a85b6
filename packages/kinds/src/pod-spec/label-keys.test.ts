import { expect, it } from 'vitest';
import type { Pod } from '@gantry/objects';
import { applyLabelKeys, validateLabelKeys } from './label-keys.ts';

it("writes the values of a new pod's labels into its selectors", () => {
  const selector = () => ({ matchLabels: { app: 'a' } });
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p', labels: { app: 'a', hash: '1', tenant: 't' } },
    spec: {
      containers: [],
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: selector(),
          matchLabelKeys: ['hash', 'none'],
        },
      ],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'zone', labelSelector: selector(), matchLabelKeys: ['app'], mismatchLabelKeys: ['tenant'] },
            { topologyKey: 'zone', mismatchLabelKeys: ['tenant'] },
          ],
        },
      },
    },
  };
  applyLabelKeys(pod);
  expect(pod.spec?.topologySpreadConstraints?.[0]?.labelSelector?.matchExpressions).toEqual([
    { key: 'hash', operator: 'In', values: ['1'] },
  ]);
  const terms = pod.spec?.affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  expect(terms?.[0]?.labelSelector?.matchExpressions).toEqual([
    { key: 'app', operator: 'In', values: ['a'] },
    { key: 'tenant', operator: 'NotIn', values: ['t'] },
  ]);
  expect(terms?.[1]?.labelSelector).toBeUndefined();
  // The selector contains the key already.
  expect(validateLabelKeys(terms?.[0] ?? {}, 'p')).toMatchObject([
    { field: 'p[0]', detail: 'exists in both matchLabelKeys and labelSelector' },
  ]);
});

it('refuses keys that are both asked for and shunned, and keys without a selector', () => {
  const both = { labelSelector: {}, matchLabelKeys: ['a'], mismatchLabelKeys: ['a'] };
  expect(validateLabelKeys(both, 'p').map(({ field }) => field)).toEqual(['p.matchLabelKeys[0]']);
  const lost = { matchLabelKeys: ['a'], mismatchLabelKeys: ['b'] };
  expect(validateLabelKeys(lost, 'p').map(({ field }) => field)).toEqual(['p.matchLabelKeys', 'p.mismatchLabelKeys']);
});
