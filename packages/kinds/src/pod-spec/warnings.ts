import { append } from '@gantry/base';
import {
  equalJson,
  labelValue,
  type NodeSelectorTerm,
  type ObjectMeta,
  type PodAffinityTerm,
  type PodSpec,
  type PodTemplateSpec,
  repeatedAt,
  SECCOMP_ANNOTATION,
  type WeightedPodAffinityTerm,
} from '@gantry/objects';
import { containerWarnings, fractionalBytes, portNameWarnings, portWarnings } from './container-warnings.ts';
import { eachContainer } from './each-container.ts';
import { ipWarnings } from '../fields/ip.ts';
import { oldLabelAdvice } from '../fields/deprecated-labels.ts';
import { claimSpecWarnings, overlapWarnings, volumeWarnings } from './volume-warnings.ts';

interface PodLike {
  readonly metadata?: ObjectMeta;
  readonly spec?: PodSpec;
}

const SYSCTLS_ADVICE = 'non-functional in v1.11+; use the "sysctls" field instead';
const OLD_ANNOTATIONS: Readonly<Record<string, string>> = {
  'scheduler.alpha.kubernetes.io/critical-pod': 'non-functional in v1.16+; use the "priorityClassName" field instead',
  'security.alpha.kubernetes.io/sysctls': SYSCTLS_ADVICE,
  'security.alpha.kubernetes.io/unsafe-sysctls': SYSCTLS_ADVICE,
};
const SECCOMP_ADVICE = 'non-functional in v1.27+; use the "seccompProfile" field instead';

/** Warnings about valid but probably unintended fields of a pod, or of a template at `path`. The path of a pod is empty. */
export function podWarnings({ metadata, spec }: PodLike, path: string): string[] {
  if (spec === undefined) return [];
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const annotations = metadata?.annotations ?? {};
  const specPath = at('spec');
  return [
    ...labelWarnings(spec, specPath),
    ...Object.entries(OLD_ANNOTATIONS)
      .filter(([key]) => key in annotations)
      .map(([key, advice]) => `${at('metadata.annotations')}[${key}]: ${advice}`),
    ...volumeWarnings(spec.volumes ?? [], `${specPath}.volumes`),
    ...(spec.volumes ?? []).flatMap(({ ephemeral }, i) => {
      const template = ephemeral?.volumeClaimTemplate;
      const claimPath = `${specPath}.volumes[${i}].ephemeral.volumeClaimTemplate.spec`;
      return template === undefined ? [] : claimSpecWarnings(template.spec, claimPath);
    }),
    ...overlapWarnings(spec.volumes ?? []),
    ...repeated(spec.hostAliases ?? [], 'ip', `${specPath}.hostAliases`),
    ...repeated(spec.imagePullSecrets ?? [], 'name', `${specPath}.imagePullSecrets`),
    ...(spec.imagePullSecrets ?? []).flatMap(({ name = '' }, i) =>
      name === '' ? [`${specPath}.imagePullSecrets[${i}].name: invalid empty name ""`] : [],
    ),
    ...fractionalBytes(spec.overhead, `${specPath}.overhead`),
    ...(SECCOMP_ANNOTATION in annotations && spec.securityContext?.seccompProfile === undefined
      ? [`${at('metadata.annotations')}[${SECCOMP_ANNOTATION}]: ${SECCOMP_ADVICE}`]
      : []),
    ...eachContainer(spec, specPath).flatMap(([container, containerPath]) =>
      containerWarnings(container, containerPath, {
        annotations,
        annotationsPath: at('metadata.annotations'),
        ...(path === '' ? {} : { template: spec }),
      }),
    ),
    ...portWarnings(eachContainer(spec, specPath)),
    ...portNameWarnings(eachContainer(spec, specPath)),
    ...((spec.terminationGracePeriodSeconds ?? 0) < 0
      ? [
          `${specPath}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
        ]
      : []),
    ...affinityWarnings(spec, specPath),
    ...(spec.dnsConfig?.nameservers ?? []).flatMap((ip, i) =>
      ipWarnings(ip, `${specPath}.dnsConfig.nameservers[${i}]`),
    ),
    ...(spec.hostAliases ?? []).flatMap(({ ip = '' }, i) => ipWarnings(ip, `${specPath}.hostAliases[${i}].ip`)),
  ];
}

/** The same for a template. An unchanged template gets no warnings, as in Kubernetes. */
export function templateWarnings(
  template: PodTemplateSpec | undefined,
  old: PodTemplateSpec | undefined,
  path: string,
): string[] {
  if (template === undefined || (old !== undefined && equalJson(template, old))) return [];
  return podWarnings(template, path);
}

/** Warnings about deprecated node labels, and about spread constraints that count no pods. */
function labelWarnings({ nodeSelector = {}, affinity, topologySpreadConstraints = [] }: PodSpec, path: string) {
  const warnings = Object.keys(nodeSelector).flatMap((label) => {
    const advice = oldLabelAdvice(label);
    return advice === undefined ? [] : [`${path}.nodeSelector[${label}]: ${advice}`];
  });
  const nodes = affinity?.nodeAffinity;
  const required = 'requiredDuringSchedulingIgnoredDuringExecution';
  const preferred = 'preferredDuringSchedulingIgnoredDuringExecution';
  (nodes?.[required]?.nodeSelectorTerms ?? []).forEach((term, i) => {
    const at = `${path}.affinity.nodeAffinity.${required}.nodeSelectorTerms[${i}]`;
    append(warnings, termWarnings(term, at, 'checked'));
  });
  (nodes?.[preferred] ?? []).forEach(({ preference }, i) => {
    append(warnings, termWarnings(preference, `${path}.affinity.nodeAffinity.${preferred}[${i}].preference`, 'free'));
  });
  topologySpreadConstraints.forEach(({ topologyKey = '', labelSelector }, i) => {
    const at = `${path}.topologySpreadConstraints[${i}]`;
    const advice = oldLabelAdvice(topologyKey);
    if (advice !== undefined) warnings.push(`${at}.topologyKey: ${topologyKey} is ${advice}`);
    if (labelSelector === undefined) warnings.push(noPod(at));
  });
  return warnings;
}

/** Values in preferences are not validated; errors in them are only warnings. */
function termWarnings({ matchExpressions = [] }: NodeSelectorTerm, path: string, values: 'checked' | 'free'): string[] {
  return matchExpressions.flatMap(({ key = '', values: given }, i) => {
    const at = `${path}.matchExpressions[${i}]`;
    const advice = oldLabelAdvice(key);
    const faults = (values === 'free' ? (given ?? []) : []).flatMap((value, k) =>
      labelValue(value).map((fault) => `${at}.values[${k}]: ${value} is invalid, ${fault}`),
    );
    return advice === undefined ? faults : [`${at}.key: ${key} is ${advice}`, ...faults];
  });
}

function noPod(path: string): string {
  return `${path}.labelSelector: a null labelSelector results in matching no pod`;
}

function affinityWarnings({ affinity }: PodSpec, path: string): string[] {
  const required = (terms: readonly PodAffinityTerm[] | undefined, at: string) =>
    (terms ?? []).flatMap(({ labelSelector }, i) => (labelSelector === undefined ? [noPod(`${at}[${i}]`)] : []));
  const preferred = (terms: readonly WeightedPodAffinityTerm[] | undefined, at: string) =>
    (terms ?? []).flatMap(({ podAffinityTerm }, i) =>
      podAffinityTerm.labelSelector === undefined ? [noPod(`${at}[${i}].podAffinityTerm`)] : [],
    );
  return (['podAffinity', 'podAntiAffinity'] as const).flatMap((kind) => {
    const at = `${path}.affinity.${kind}`;
    return [
      ...required(
        affinity?.[kind]?.requiredDuringSchedulingIgnoredDuringExecution,
        `${at}.requiredDuringSchedulingIgnoredDuringExecution`,
      ),
      ...preferred(
        affinity?.[kind]?.preferredDuringSchedulingIgnoredDuringExecution,
        `${at}.preferredDuringSchedulingIgnoredDuringExecution`,
      ),
    ];
  });
}

function repeated<K extends string>(items: readonly { readonly [P in K]?: string }[], key: K, path: string): string[] {
  const value = (item: { readonly [P in K]?: string }) => item[key] ?? '';
  const isRepeated = repeatedAt(items.map(value));
  return items.flatMap((item, i) =>
    isRepeated(i) ? [`${path}[${i}].${key}: duplicate ${key} ${JSON.stringify(value(item))}`] : [],
  );
}
