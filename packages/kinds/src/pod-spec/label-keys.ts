import {
  type FieldError,
  type LabelSelector,
  type Pod,
  type PodAffinityTerm,
  forbidden,
  invalid,
  qualifiedName,
} from '@gantry/objects';
import { invalidAll } from '@gantry/apimachinery';

/** A term whose selector is refined by the pod's own labels. */
interface Refined {
  readonly labelSelector?: LabelSelector;
  readonly matchLabelKeys?: readonly string[];
  readonly mismatchLabelKeys?: readonly string[];
}

/** Adds the values of a new pod's labels to the selectors that name their keys: the scheduler reads only the selectors. */
export function applyLabelKeys({ metadata, spec }: Pod): void {
  const labels = metadata.labels ?? {};
  for (const constraint of spec?.topologySpreadConstraints ?? []) refine(constraint, labels);
  for (const affinity of [spec?.affinity?.podAffinity, spec?.affinity?.podAntiAffinity]) {
    const preferred = affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
    const terms: readonly PodAffinityTerm[] = [
      ...preferred.map(({ podAffinityTerm }) => podAffinityTerm),
      ...(affinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ];
    for (const term of terms) refine(term, labels);
  }
}

function refine({ labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: Refined, labels: Labels): void {
  if (labelSelector === undefined) return;
  const requirements = [
    ...matchLabelKeys.map((key) => ({ key, operator: 'In' as const })),
    ...mismatchLabelKeys.map((key) => ({ key, operator: 'NotIn' as const })),
  ].flatMap(({ key, operator }) => {
    const value = labels[key];
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  if (requirements.length === 0) return;
  labelSelector.matchExpressions = [...(labelSelector.matchExpressions ?? []), ...requirements];
}

type Labels = Readonly<Record<string, string>>;

/** Checks label keys. A key may be in `matchLabelKeys` or in the selector, not in both. */
export function validateLabelKeys(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: Refined,
  path: string,
): FieldError[] {
  return [
    ...validateKeys(matchLabelKeys, labelSelector, `${path}.matchLabelKeys`),
    ...validateKeys(mismatchLabelKeys, labelSelector, `${path}.mismatchLabelKeys`),
    ...validateAskedOnce(matchLabelKeys, labelSelector, path),
    ...matchLabelKeys.flatMap((key, i) =>
      mismatchLabelKeys.includes(key)
        ? [invalid(`${path}.matchLabelKeys[${i}]`, key, 'exists in both matchLabelKeys and mismatchLabelKeys')]
        : [],
    ),
  ];
}

function validateKeys(keys: readonly string[], selector: LabelSelector | undefined, path: string): FieldError[] {
  if (keys.length === 0) return [];
  if (selector === undefined) return [forbidden(path, 'must not be specified when labelSelector is not set')];
  return keys.flatMap((key, i) => invalidAll(`${path}[${i}]`, key, qualifiedName(key)));
}

function validateAskedOnce(keys: readonly string[], selector: LabelSelector | undefined, path: string): FieldError[] {
  const asked = new Set(Object.keys(selector?.matchLabels ?? {}));
  return (selector?.matchExpressions ?? []).flatMap(({ key = '' }) => {
    const i = keys.lastIndexOf(key);
    const isAgain = i >= 0 && asked.has(key);
    asked.add(key);
    // The path is Kubernetes'.
    return isAgain ? [invalid(`${path}[${i}]`, key, 'exists in both matchLabelKeys and labelSelector')] : [];
  });
}
