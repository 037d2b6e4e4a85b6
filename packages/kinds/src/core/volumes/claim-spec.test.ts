import { expect, it } from 'vitest';
import { defaultClaimSpec, validateClaimSpec } from './claim-spec.ts';

it('knows no empty volume mode', () => {
  const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } }, volumeMode: '' };
  defaultClaimSpec(spec);
  expect(validateClaimSpec(spec, 'spec').map(({ field }) => field)).toEqual(['spec.volumeMode']);
});
