import { append } from '@gantry/base';
import {
  type FieldError,
  type PodSpec,
  type ResourceRequirements,
  dns1123Label,
  duplicate,
  required,
} from '@gantry/objects';
import { invalidAll, notFound } from '@gantry/apimachinery';

/** Checks the resource claims of a container: each is a claim of its pod and used once, as a whole or by its requests. */
export function validateContainerClaims(
  claims: ResourceRequirements['claims'],
  { resourceClaims = [] }: PodSpec,
  path: string,
): FieldError[] {
  const ofPod = new Set(resourceClaims.map(({ name = '' }) => name));
  const taken = new Set<string>();
  const takenInParts = new Set<string>();
  let isListed = false;
  return (claims ?? []).flatMap(({ name = '', request = '' }, i) => {
    const at = `${path}[${i}]`;
    if (name === '') return [required(at)];
    const errors: FieldError[] = [];
    const key = request === '' ? name : `${name}/${request}`;
    if (taken.has(name)) errors.push(duplicate(at, name));
    else {
      if (request !== '') append(errors, invalidAll(`${at}.request`, request, dns1123Label(request)));
      const overlaps = request === '' && takenInParts.has(name);
      if (taken.has(key) || overlaps) errors.push(duplicate(at, key));
      taken.add(key);
      if (request !== '') takenInParts.add(name);
    }
    if (ofPod.has(name)) return errors;
    // Listed only once, because the names may be as long as the request.
    const names = ofPod.size === 0 ? ' which is empty' : isListed ? '' : `: ${[...ofPod].toSorted().join(', ')}`;
    isListed = true;
    errors.push({ ...notFound(at, name), detail: `must be one of the names in pod.spec.resourceClaims${names}` });
    return errors;
  });
}
