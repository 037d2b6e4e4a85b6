import type { Container } from '@gantry/objects';

const REFERENCE =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?)\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?$/;

/** The digits of an image's id. */
const ID = /^[0-9a-f]{64}$/;

/** Why `image` is no image reference, in kubelet's words; undefined for one. An id is none: it would name an image of any other pod. */
export function imageReferenceFault(image: string): string | undefined {
  if (ID.test(image)) return `invalid repository name (${image}), cannot specify 64-byte hexadecimal strings`;
  return REFERENCE.test(image) ? undefined : 'invalid reference format';
}

/** The container's pull policy, or Kubernetes' default for its image's tag. */
export function pullPolicyOf({ image = '', imagePullPolicy }: Container): string {
  return imagePullPolicy ?? (/:[^/]+$/.test(image) && !image.endsWith(':latest') ? 'IfNotPresent' : 'Always');
}
