import { expect, it } from 'vitest';
import { masked, maskedAnnotations } from './masked.ts';

const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

it('hides the values of a Secret, also those in what kubectl has applied, and nothing else', () => {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: { name: 's', annotations: { note: 'seen', [APPLIED]: '{"data":{"password":"aHVudGVyMg=="}}' } },
    data: { password: 'aHVudGVyMg==' },
  };
  const out = JSON.stringify(masked(secret));
  expect(out).not.toContain('aHVudGVyMg');
  expect(out).toContain('password');
  expect(masked(secret).metadata.annotations?.['note']).toBe('seen');
  expect(JSON.stringify(maskedAnnotations(secret.metadata.annotations))).not.toContain('aHVudGVyMg');
});

it('leaves what has neither data nor annotations as it is', () => {
  const plain = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 's' } };
  expect(masked(plain)).toEqual(plain);
  expect(maskedAnnotations(undefined)).toBeUndefined();
});
