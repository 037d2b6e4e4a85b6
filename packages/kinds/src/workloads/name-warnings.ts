import { dns1123Label, type KubeObject, type PodTemplateSpec } from '@gantry/objects';
import { templateWarnings } from '../pod-spec/warnings.ts';

/** Warnings about names that cannot be the hostname of every pod. */
export function surprisingName(name: string): string[] {
  const faults = dns1123Label(name);
  return faults.length === 0
    ? []
    : [
        `metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended: [${faults.join(' ')}]`,
      ];
}

type Replicated = KubeObject & { readonly spec?: { readonly template?: PodTemplateSpec } };

/** Warnings of Deployments and ReplicaSets: about the name of a new one, and about the template. */
export function replicatedWarnings({ metadata, spec }: Replicated, old: Replicated | undefined): string[] {
  return [
    ...(old === undefined ? surprisingName(metadata.name ?? '') : []),
    ...templateWarnings(spec?.template, old?.spec?.template, 'spec.template'),
  ];
}
