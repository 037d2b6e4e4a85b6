import { labelSelectorFrom, type Pod, type PodAffinityTerm, type Selector } from '@gantry/objects';

export type Labels = Readonly<Record<string, string>>;

/** The labels of each namespace, by the namespace's name. */
export type NamespaceLabels = ReadonlyMap<string, Labels>;

/** A term of affinity or anti-affinity between pods. */
export interface AffinityTerm {
  /** Equal for terms that select the same pods and compare nodes by the same label. */
  readonly id: string;
  /** The key of the label whose value the nodes of one domain share. */
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: Selector;
  readonly selector: Selector;
}

/** A term that ranks nodes. For anti-affinity the weight is negative. */
export interface PreferredTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

/** What a pod demands of the pods in its surroundings. */
export interface PodAffinity {
  /** For each of these terms, the node's domain needs pods that match all of them. */
  readonly required: readonly AffinityTerm[];
  /** For each of these terms, no pod in the node's domain may match it. */
  readonly forbidden: readonly AffinityTerm[];
  readonly preferred: readonly PreferredTerm[];
  /** The number of terms, present only when the pod has too many. Then none of them is used, and no node fits. */
  readonly excess?: number;
}

/** The limit on a pod's terms. Each distinct term of a waiting pod is compared with all pods, so the number has to be bounded. */
export const MAX_TERMS = 100;

/** Returns the terms of a pod, or undefined when it has none. */
export function podAffinityOf({ metadata, spec }: Pod): PodAffinity | undefined {
  const { podAffinity, podAntiAffinity } = spec?.affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined) return undefined;
  const count = [podAffinity, podAntiAffinity].reduce(
    (
      sum,
      {
        requiredDuringSchedulingIgnoredDuringExecution: hard,
        preferredDuringSchedulingIgnoredDuringExecution: soft,
      } = {},
    ) => sum + (hard?.length ?? 0) + (soft?.length ?? 0),
    0,
  );
  if (count > MAX_TERMS) return { required: [], forbidden: [], preferred: [], excess: count };
  const parse = (term: PodAffinityTerm) => parseTerm(term, metadata.namespace ?? '');
  const preferred = [
    ...(podAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(podAntiAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm, weight }) => ({
      podAffinityTerm,
      weight: -weight,
    })),
  ].map(({ podAffinityTerm, weight }) => ({ term: parse(podAffinityTerm), weight }));
  const required = (podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(parse);
  const forbidden = (podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(parse);
  if (required.length + forbidden.length + preferred.length === 0) return undefined;
  return { required, forbidden, preferred };
}

/** `matchLabelKeys` and `mismatchLabelKeys` are ignored: the API server has already written their values into the selector. */
function parseTerm(term: PodAffinityTerm, namespace: string): AffinityTerm {
  const { topologyKey, namespaces: named = [], namespaceSelector: among } = term;
  const isOwn = named.length === 0 && among === undefined;
  const namespaces = new Set(isOwn ? [namespace] : named);
  const namespaceSelector = labelSelectorFrom(among);
  const selector = labelSelectorFrom(term.labelSelector);
  const id = JSON.stringify([topologyKey, [...namespaces].sort(), idOf(namespaceSelector), idOf(selector)]);
  return { id, topologyKey, namespaces, namespaceSelector, selector };
}

function idOf(selector: Selector): string | null {
  return selector.nothing ? null : selector.toString();
}

/** Whether a term selects a pod. The nodes do not matter here. */
export function selects(
  { namespaces: named, namespaceSelector, selector }: AffinityTerm,
  { metadata: { namespace = '', labels } }: Pod,
  namespaces: NamespaceLabels,
): boolean {
  if (!named.has(namespace) && !namespaceSelector.matches(namespaces.get(namespace))) return false;
  return selector.matches(labels);
}

/** Whether all of the terms select a pod. False when there are no terms. */
export function allSelect(terms: readonly AffinityTerm[], pod: Pod, namespaces: NamespaceLabels): boolean {
  return terms.length > 0 && terms.every((term) => selects(term, pod, namespaces));
}
