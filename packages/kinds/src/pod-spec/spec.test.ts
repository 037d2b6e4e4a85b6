import type { PodSpec } from '@gantry/objects';
import { formatFieldError } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { validatePodSpec } from './spec.ts';

const errorsAt = (field: string, spec: Partial<PodSpec>) =>
  validatePodSpec({ containers: [], ...spec }, 'spec')
    .filter((error) => error.field.endsWith(field))
    .map((error) => `${error.field}: ${formatFieldError(error)}`);

describe('a name that replaces the pod’s in its containers', () => {
  const of = (spec: Partial<PodSpec>) => errorsAt('.hostnameOverride', spec);

  it('is a subdomain of at most 64 characters', () => {
    expect(of({ hostnameOverride: 'a.b' })).toEqual([]);
    expect(of({ hostnameOverride: '' })).toHaveLength(1);
    expect(of({ hostnameOverride: 'Not-A-Name' })).toHaveLength(1);
    expect(of({ hostnameOverride: 'a'.repeat(64) })).toEqual([]);
    expect(of({ hostnameOverride: 'a'.repeat(65) })).toEqual([
      'spec.hostnameOverride: Too long: may not be more than 64 bytes',
    ]);
  });

  it('goes neither with the full name nor with the host’s network', () => {
    expect(of({ hostnameOverride: 'a', setHostnameAsFQDN: true, hostNetwork: true })).toEqual([
      'spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true',
      'spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true',
    ]);
    expect(of({ hostnameOverride: 'a', setHostnameAsFQDN: false, hostNetwork: false })).toEqual([]);
    expect(of({ setHostnameAsFQDN: true, hostNetwork: true })).toEqual([]);
  });
});

it('a variable from a file names an emptyDir of the pod, in any of its containers', () => {
  const env = [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'f', key: 'A' } } }];
  const of = (volumes: PodSpec['volumes'], field: string) =>
    errorsAt('.volumeName', {
      [field]: [{ name: 'c', image: 'i', env }],
      ...(volumes === undefined ? {} : { volumes }),
    });
  for (const field of ['initContainers', 'containers', 'ephemeralContainers']) {
    const at = `spec.${field}[0].env[0].valueFrom.fileKeyRef.volumeName`;
    expect(of([{ name: 'v', emptyDir: {} }], field)).toEqual([]);
    expect(of([{ name: 'v', secret: { secretName: 's' } }], field)).toEqual([
      `${at}: Invalid value: "v": referenced volume must be of type emptyDir`,
    ]);
    expect(of(undefined, field)).toEqual([`${at}: Not found: "v"`]);
  }
});
