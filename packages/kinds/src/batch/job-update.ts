import { append } from '@gantry/base';
import {
  type Affinity,
  type FieldError,
  type Job,
  type JobSpec,
  type PodSpec,
  type PodTemplateSpec,
  cloneJson,
  equalJson,
  invalid,
} from '@gantry/objects';
import { IMMUTABLE } from '@gantry/apimachinery';
import { isJobCondition } from './job-status.ts';
import { printedPodSpec } from '../go-printing/pod-spec-dump.ts';

const FIXED = ['completionMode', 'podFailurePolicy', 'backoffLimitPerIndex', 'managedBy', 'successPolicy'] as const;

/** Checks changes of a Job, in addition to the rules for every Job. */
export function validateJobChange(job: Job, old: Job): FieldError[] {
  const spec: Partial<JobSpec> = job.spec ?? {};
  const before: Partial<JobSpec> = old.spec ?? {};
  const errors = validateCompletions(spec, before);
  if (!equalJson(spec.selector, before.selector)) errors.push(invalid('spec.selector', spec.selector, IMMUTABLE));
  append(errors, validateTemplateChange(job, old));
  for (const field of FIXED) {
    if (!equalJson(spec[field], before[field])) {
      errors.push(invalid(`spec.${field}`, printed(spec[field]), IMMUTABLE));
    }
  }
  return errors;
}

/** As Kubernetes prints policies in messages: with Go's names. */
function printed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(printed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key.charAt(0).toUpperCase() + key.slice(1), printed(item)]),
  );
}

/** An Indexed Job may change its completions together with its parallelism (elastic Job). */
function validateCompletions(spec: Partial<JobSpec>, before: Partial<JobSpec>): FieldError[] {
  const { completions, parallelism, completionMode } = spec;
  if (completions === before.completions) return [];
  if (completionMode !== 'Indexed') return [invalid('spec.completions', completions ?? null, IMMUTABLE)];
  return completions === undefined || completions === parallelism
    ? []
    : [invalid('spec.completions', completions, 'can only be modified in tandem with spec.parallelism')];
}

/** A suspended Job without running pods may change the scheduling directives and resources of its template. */
function validateTemplateChange(job: Job, old: Job): FieldError[] {
  const template = job.spec?.template ?? {};
  const before = old.spec?.template ?? {};
  const isSuspended = old.spec?.suspend === true;
  const isStill = old.status?.startTime === undefined || isJobCondition(old, 'Suspended');
  const isOpen = isSuspended && isStill && (old.status?.active ?? 0) === 0;
  if (!isOpen) {
    return equalJson(template, before)
      ? []
      : [invalid('spec.template', { ...template.metadata, Spec: printedSpec(template) }, IMMUTABLE)];
  }
  const allowed = withResources(withDirectives(before, template), template);
  return equalJson(template.spec, allowed.spec)
    ? []
    : [invalid('spec.template.spec', printedSpec(template), IMMUTABLE)];
}

function printedSpec({ spec }: PodTemplateSpec): object {
  return printedPodSpec(spec ?? { containers: [] });
}

/** `before` with the scheduling directives of `template`. */
function withDirectives(before: PodTemplateSpec, template: PodTemplateSpec): PodTemplateSpec {
  const munged = cloneJson(before);
  const spec: Partial<PodSpec> = munged.spec ?? {};
  const wanted: Partial<PodSpec> = template.spec ?? {};
  const affinity = mergedAffinity(spec.affinity, wanted.affinity);
  if (affinity === undefined) delete spec.affinity;
  else spec.affinity = affinity;
  for (const field of ['nodeSelector', 'tolerations', 'schedulingGates'] as const) {
    if (wanted[field] === undefined) Reflect.deleteProperty(spec, field);
    else Object.assign(spec, { [field]: wanted[field] });
  }
  return { ...munged, spec: spec as PodSpec };
}

function mergedAffinity(before: Affinity | undefined, wanted: Affinity | undefined): Affinity | undefined {
  const { nodeAffinity: _, ...rest } = before ?? {};
  if (wanted === undefined) return Object.keys(rest).length === 0 ? undefined : rest;
  return wanted.nodeAffinity === undefined ? rest : { ...rest, nodeAffinity: wanted.nodeAffinity };
}

/** `before` with the container resources of `template`. */
function withResources(before: PodTemplateSpec, template: PodTemplateSpec): PodTemplateSpec {
  const munged = cloneJson(before);
  for (const field of ['containers', 'initContainers'] as const) {
    const containers = munged.spec?.[field] ?? [];
    const wanted = template.spec?.[field] ?? [];
    if (containers.length !== wanted.length) continue;
    containers.forEach((container, i) => {
      const { name, resources } = wanted[i] ?? {};
      if (name !== container.name) return;
      if (resources === undefined) delete container.resources;
      else container.resources = resources;
    });
  }
  return munged;
}
