import type { Affinity, PodAffinityTerm, WeightedPodAffinityTerm } from '@gantry/objects';

/** A term that selects pods with this value of the label `app`, in the pod's own namespace unless `more` says otherwise. */
export function exampleTerm(app: string, topologyKey = 'zone', more: Partial<PodAffinityTerm> = {}): PodAffinityTerm {
  return { labelSelector: { matchLabels: { app } }, topologyKey, ...more };
}

export function near(...terms: PodAffinityTerm[]): Affinity {
  return { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
}

export function apart(...terms: PodAffinityTerm[]): Affinity {
  return { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: terms } };
}

export function preferNear(weight: number, ...terms: PodAffinityTerm[]): Affinity {
  return { podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted(weight, terms) } };
}

export function preferApart(weight: number, ...terms: PodAffinityTerm[]): Affinity {
  return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: weighted(weight, terms) } };
}

function weighted(weight: number, terms: readonly PodAffinityTerm[]): WeightedPodAffinityTerm[] {
  return terms.map((podAffinityTerm) => ({ weight, podAffinityTerm }));
}
