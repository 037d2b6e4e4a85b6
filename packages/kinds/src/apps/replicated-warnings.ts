import type { KubeObject, PodTemplateSpec } from '@gantry/objects';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { surprisingName } from '../workloads/name-warnings.ts';

type Replicated = KubeObject & { readonly spec?: { readonly template?: PodTemplateSpec } };

/** Warnings of Deployments and ReplicaSets: about the name of a new one, and about the template. */
export function replicatedWarnings({ metadata, spec }: Replicated, old: Replicated | undefined): string[] {
  return [
    ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
    ...templateWarnings(spec?.template, old?.spec?.template, 'spec.template'),
  ];
}
