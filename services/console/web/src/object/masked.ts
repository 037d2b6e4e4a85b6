import type { AnyObject } from './use-object.ts';

const MASK = '••••••';
/** Where kubectl keeps all of what it applied. */
const APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/** A copy without the values of a Secret, also without those that kubectl keeps in an annotation. */
export function masked(secret: AnyObject): AnyObject {
  const { data, metadata, ...rest } = secret;
  return {
    ...rest,
    metadata:
      metadata.annotations === undefined
        ? metadata
        : { ...metadata, annotations: maskedAnnotations(metadata.annotations) ?? {} },
    ...(data === undefined ? {} : { data: Object.fromEntries(Object.keys(data).map((key) => [key, MASK])) }),
  };
}

/** The annotations of a Secret without its values. */
export function maskedAnnotations(
  annotations: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  return annotations?.[APPLIED] === undefined ? annotations : { ...annotations, [APPLIED]: MASK };
}
