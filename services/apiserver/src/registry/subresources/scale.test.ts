import type { KubeObject } from '@gantry/objects';
import { expect, it } from 'vitest';
import { scaleOf } from './scale.ts';

const PATHS = { specReplicas: '.spec.replicas', statusReplicas: '.status.replicas', selector: '.spec.selector' };

it.each([
  [{ app: 'a', tier: 'b' }, 'app=a,tier=b'],
  [{ matchLabels: { app: 'a' } }, 'app=a'],
  [{ matchExpressions: [{ key: 'a', operator: 'Exists' }] }, 'a'],
  ['a in (b)', 'a in (b)'],
  [{}, undefined],
])('shows the selector %j as a text', (selector, text) => {
  const object = { apiVersion: 'v1', kind: 'X', metadata: {}, spec: { selector } } as KubeObject;
  expect(scaleOf(object, PATHS).status?.selector).toBe(text);
});
