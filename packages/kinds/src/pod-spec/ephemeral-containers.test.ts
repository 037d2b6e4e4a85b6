import { describe, expect, it } from 'vitest';
import { changed, pod } from '../testing/example-pod.ts';
import { validateEphemeralChange } from './ephemeral-containers.ts';

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
