import type { ResourceDefinition } from '@gantry/apimachinery';
import { expect, it } from 'vitest';
import type { AdmissionRequest } from './admission-check.ts';
import { refuse, refuseBeforeNaming } from './refuse.ts';

const request = (metadata: object): AdmissionRequest => {
  const definition = { group: '', resource: 'pods' } as ResourceDefinition;
  return { name: '', definition, object: { apiVersion: 'v1', kind: 'Pod', metadata } } as AdmissionRequest;
};

it.each([
  ['a name that a controller chose for its prefix', { generateName: 'web-', name: 'web-x7k2q' }, 'web-'],
  ['a prefix alone', { generateName: 'web-' }, 'web-'],
  ['a name alone', { name: 'web-x7k2q' }, 'web-x7k2q'],
  ['a name of the user beside a prefix', { generateName: 'web-', name: 'web-front' }, 'web-front'],
  ['a name that does not begin with the prefix', { generateName: 'web-', name: 'other-x7k2q' }, 'other-x7k2q'],
])('calls an object with %s as Kubernetes does before names are generated', (_, metadata, called) => {
  expect(refuseBeforeNaming(request(metadata), 'why').message).toBe(`pods "${called}" is forbidden: why`);
});

it('calls an object by its name once it has one', () => {
  expect(refuse(request({ generateName: 'web-', name: 'web-x7k2q' }), 'why').message).toContain('"web-x7k2q"');
});
