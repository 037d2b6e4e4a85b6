import type { Container } from '@gantry/objects';

const REFERENCE =
  /^(?:(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::\d+)?)\/)?[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*(?::[\w][\w.-]{0,127})?(?:@[a-z0-9]+:[0-9a-f]{32,})?$/;

/** Whether `image` is a valid image reference. */
export function isImageReference(image: string): boolean {
  return REFERENCE.test(image);
}

/** The container's pull policy, or Kubernetes' default for its image's tag. */
export function pullPolicyOf({ image = '', imagePullPolicy }: Container): string {
  return imagePullPolicy ?? (/:[^/]+$/.test(image) && !image.endsWith(':latest') ? 'IfNotPresent' : 'Always');
}
