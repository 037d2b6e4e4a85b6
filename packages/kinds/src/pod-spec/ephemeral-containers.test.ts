import { describe, expect, it } from 'vitest';
import { type Pod, cloneJson } from '@gantry/objects';
import { validateEphemeralChange } from './ephemeral-containers.ts';

function pod(): Pod {
  const sizes = { cpu: '100m', memory: '1Mi' };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: {
      containers: [{ name: 'c', image: 'i', resources: { requests: { ...sizes }, limits: { ...sizes, cpu: '1' } } }],
      ephemeralContainers: [{ name: 'e', image: 'i' }],
    },
  };
}

function changed(change: (object: Pod) => void): Pod {
  const object = cloneJson(pod());
  change(object);
  return object;
}

describe('ephemeral containers', () => {
  it('may be added', () => {
    const added = changed((object) => object.spec?.ephemeralContainers?.push({ name: 'f', image: 'i' }));
    expect(validateEphemeralChange(added, pod())).toEqual([]);
  });

  it('may neither be changed nor taken away', () => {
    const other = changed((object) => Object.assign(object.spec?.ephemeralContainers?.[0] ?? {}, { image: 'j' }));
    const none = changed((object) => delete object.spec?.ephemeralContainers);
    expect(validateEphemeralChange(other, pod())[0]?.detail).toMatch(/may not be changed/);
    expect(validateEphemeralChange(none, pod())[0]?.detail).toMatch(/may not be removed/);
  });
});
