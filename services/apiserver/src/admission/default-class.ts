import type { KubeObject } from '@gantry/objects';

/** The newest of the classes that an annotation marks as default; of equally old ones the first by name. */
export function newestDefault<T extends KubeObject>(
  classes: readonly T[],
  annotations: readonly string[],
): T | undefined {
  const marked = classes.filter(({ metadata }) =>
    annotations.some((annotation) => metadata.annotations?.[annotation] === 'true'),
  );
  const rank = ({ metadata }: T) => Date.parse(metadata.creationTimestamp ?? '');
  const [first] = marked.sort(
    (a, b) => rank(b) - rank(a) || ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
  return first;
}
