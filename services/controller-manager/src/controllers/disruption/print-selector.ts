import type { LabelSelector } from '@gantry/objects';

/** A selector as Kubernetes prints it in Events: the form of a Go structure. */
export function printSelector(selector: LabelSelector | null | undefined): string {
  if (selector === undefined || selector === null) return 'nil';
  const labels = Object.entries(selector.matchLabels ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${name}: ${value},`);
  const expressions = (selector.matchExpressions ?? []).map(
    ({ key, operator, values = [] }) =>
      `LabelSelectorRequirement{Key:${key},Operator:${operator},Values:[${values.join(' ')}],},`,
  );
  const matchLabels = `map[string]string{${labels.join('')}}`;
  const matchExpressions = `[]LabelSelectorRequirement{${expressions.join('')}}`;
  return `&LabelSelector{MatchLabels:${matchLabels},MatchExpressions:${matchExpressions},}`;
}
