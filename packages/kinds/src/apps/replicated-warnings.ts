import type { KubeObject, PodTemplateSpec } from '@gantry/objects';
import { templateWarnings } from '../pod-spec/warnings.ts';
import { surprisingName } from '../workloads/name-warnings.ts';

type Replicated = KubeObject & { readonly spec?: { readonly template?: PodTemplateSpec } };

/** Of Deployments and ReplicaSets: of their name when they are made, and of their template. */
export function replicatedWarnings({ metadata, spec }: Replicated, old: Replicated | undefined): string[] {
  return [
    ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
    ...templateWarnings(spec?.template, old?.spec?.template, 'spec.template'),
  ];
}
