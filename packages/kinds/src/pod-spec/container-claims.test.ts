import { formatFieldError, type PodSpec, type ResourceRequirements } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { validatePodSpec } from './spec.ts';

describe('the resource claims of a container', () => {
  const faults = (claims: ResourceRequirements['claims'], ofPod: readonly string[]) => {
    const resourceClaims = ofPod.map((name) => ({ name, resourceClaimName: name }));
    const spec: PodSpec = { containers: [{ name: 'c', image: 'i', resources: { claims } }], resourceClaims };
    return validatePodSpec(spec, 'spec')
      .filter(({ field }) => field.includes('claims'))
      .map((error) => `${error.field}: ${formatFieldError(error)}`);
  };
  const at = 'spec.containers[0].resources.claims';

  it('are those of its pod, as wholes or in parts', () => {
    expect(faults([{ name: 'a' }, { name: 'b', request: 'x' }, { name: 'b', request: 'y' }], ['a', 'b'])).toEqual([]);
  });

  it.each<[string, ResourceRequirements['claims'], readonly string[], readonly string[]]>([
    [
      'one of no claim of the pod',
      [{ name: 'a' }],
      [],
      [`${at}[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is empty`],
    ],
    [
      'one of other claims of the pod',
      [{ name: 'a' }],
      ['c', 'b'],
      [`${at}[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims: b, c`],
    ],
    ['one without a name', [{ name: '' }], ['a'], [`${at}[0]: Required value`]],
    ['one twice', [{ name: 'a' }, { name: 'a' }], ['a'], [`${at}[1]: Duplicate value: "a"`]],
    ['a part after the whole', [{ name: 'a' }, { name: 'a', request: 'x' }], ['a'], [`${at}[1]: Duplicate value: "a"`]],
    ['the whole after a part', [{ name: 'a', request: 'x' }, { name: 'a' }], ['a'], [`${at}[1]: Duplicate value: "a"`]],
    [
      'a part twice',
      [
        { name: 'a', request: 'x' },
        { name: 'a', request: 'x' },
      ],
      ['a'],
      [`${at}[1]: Duplicate value: "a/x"`],
    ],
  ])('are not %s', (_title, claims, ofPod, expected) => {
    expect(faults(claims, ofPod)).toEqual(expected);
  });

  it('are compared with each other in linear time, and the names of the pod are listed once', () => {
    const names = Array.from({ length: 50_000 }, (_, i) => `claim-${i}`);
    const missing = names.map((name) => ({ name: `x-${name}` }));
    const found = faults(missing, names);
    expect(found).toHaveLength(50_000);
    expect(found[0]).toContain('resourceClaims: claim-0, claim-1, ');
    expect(found[1]).toBe(`${at}[1]: Not found: "x-claim-1": must be one of the names in pod.spec.resourceClaims`);
  });
});
