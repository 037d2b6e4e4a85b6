import { labelSelectorFrom, type Pod, type PodAffinityTerm, type Selector } from '@gantry/objects';

export type Labels = Readonly<Record<string, string>>;

/** The labels of namespaces, by name. */
export type NamespaceLabels = ReadonlyMap<string, Labels>;

/** A term of affinity or anti-affinity between pods. */
export interface AffinityTerm {
  /** The same for terms that select the same pods and compare nodes by the same label. */
  readonly id: string;
  /** The label that nodes of one domain share. */
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  readonly namespaceSelector: Selector;
  readonly selector: Selector;
}

/** A term that ranks nodes; its weight is negative for anti-affinity. */
export interface PreferredTerm {
  readonly term: AffinityTerm;
  readonly weight: number;
}

/** What a pod asks of other pods near it. */
export interface PodAffinity {
  /** One pod of the node's domains has to match all of these. */
  readonly required: readonly AffinityTerm[];
  /** No pod of the node's domain may match one of these. */
  readonly forbidden: readonly AffinityTerm[];
  readonly preferred: readonly PreferredTerm[];
  /** How many terms the pod has where these are too many: then none of them counts, and no node fits. */
  readonly excess?: number;
}

/** Each distinct one of a waiting pod is compared with all pods. */
export const MAX_TERMS = 100;

/** The terms of a pod; undefined for one without any. */
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

/** Label keys are not looked at: the API server has written their values into the selector. */
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

/** Whether a term selects a pod, whatever their nodes. */
export function selects(
  { namespaces: named, namespaceSelector, selector }: AffinityTerm,
  { metadata: { namespace = '', labels } }: Pod,
  namespaces: NamespaceLabels,
): boolean {
  if (!named.has(namespace) && !namespaceSelector.matches(namespaces.get(namespace))) return false;
  return selector.matches(labels);
}

/** Whether all of the terms select a pod; never when there are none. */
export function allSelect(terms: readonly AffinityTerm[], pod: Pod, namespaces: NamespaceLabels): boolean {
  return terms.length > 0 && terms.every((term) => selects(term, pod, namespaces));
}
