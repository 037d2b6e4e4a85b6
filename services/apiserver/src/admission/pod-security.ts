import {
  type LevelVersion,
  type PodSecurityExemptions,
  exemptNamespaceWarning,
  formatLevel,
  formatViolations,
  isPrivileged,
  podSecurityOf,
  podSecurityViolations,
  strictness,
} from '@gantry/kinds';
import {
  equalJson,
  type FieldError,
  formatFieldError,
  type Namespace,
  NAMESPACES,
  type Pod,
  PODS,
  type PodSpec,
  StatusError,
} from '@gantry/objects';
import { type AdmissionCheck, type AdmissionReader, type AdmissionRequest, isCore } from './check/admission-check.ts';
import { refuse } from './check/refuse.ts';

/** Subresources of pods that do not change the spec. */
const HARMLESS = ['exec', 'attach', 'binding', 'eviction', 'log', 'portforward', 'proxy', 'status'];
/** The maximum number of pods that are checked when the labels of a namespace change. */
const MAX_PODS = 3000;

/** Audit annotations: the enforced level, the violations of the audited level, and the reason of an exemption. */
const ENFORCED = 'pod-security.kubernetes.io/enforce-policy';
const AUDITED = 'pod-security.kubernetes.io/audit-violations';
const EXEMPT = 'pod-security.kubernetes.io/exempt';
const MISREAD = 'pod-security.kubernetes.io/error';

/**
 * Enforces the Pod Security Standard in the labels of the namespace on pods. Also adds warnings and audit annotations by the labels. Pod
 * templates are never rejected.
 */
export function podSecurity(exemptions: PodSecurityExemptions): AdmissionCheck {
  const namespaces = new Set(exemptions.namespaces);
  const usernames = new Set(exemptions.usernames);
  const classes = new Set(exemptions.runtimeClasses);
  const isExempt = ({ namespace, user, annotate }: AdmissionRequest) => {
    const why = namespaces.has(namespace) ? 'namespace' : usernames.has(user.name) ? 'user' : undefined;
    if (why !== undefined) annotate(EXEMPT, why);
    return why !== undefined;
  };
  const isExemptPod = (spec: Partial<PodSpec>) => classes.has(spec.runtimeClassName ?? '');
  return {
    name: 'PodSecurity',
    validate: async (request, reader) => {
      const { operation, definition, subresource } = request;
      if (operation !== 'create' && operation !== 'update') return;
      if (isCore(request, 'namespaces')) {
        const looksAt = (pods: readonly Pod[]) => pods.filter(({ spec = {} }) => !isExemptPod(spec));
        await judgeNamespace(request, reader, { exempt: namespaces.has(request.name), looksAt });
      } else if (definition.group === '' && definition.resource === 'pods') {
        if (HARMLESS.includes(subresource) || isExempt(request)) return;
        await judgePod(request, reader, isExemptPod);
      } else if (subresource === '' && definition.podTemplate !== undefined && !isExempt(request))
        await judgeTemplate(request, reader, isExemptPod);
    },
  };
}

async function judgePod(
  request: AdmissionRequest,
  reader: AdmissionReader,
  isExemptPod: (spec: Partial<PodSpec>) => boolean,
): Promise<void> {
  const { policy, errors } = await policyFor(request, reader);
  if (errors.length === 0 && isPrivileged(policy)) {
    request.annotate(ENFORCED, formatLevel(policy.enforce));
    return;
  }
  const { metadata, spec }: Pod = request.object;
  if (spec === undefined) return;
  const old: Pod | undefined = request.old;
  if (request.operation === 'update' && !isSignificant(spec, old?.spec)) return;
  if (isExemptPod(spec)) {
    request.annotate(EXEMPT, 'runtimeClass');
    return;
  }
  request.annotate(ENFORCED, formatLevel(policy.enforce));
  auditOf({ metadata, spec }, policy.audit, errors, request);
  const violations = podSecurityViolations(policy.enforce, { metadata, spec });
  if (violations.length > 0) {
    throw refuse(request, `violates PodSecurity "${formatLevel(policy.enforce)}": ${formatViolations(violations)}`);
  }
  warnOf({ metadata, spec }, policy.warn, request);
}

async function judgeTemplate(
  request: AdmissionRequest,
  reader: AdmissionReader,
  isExemptPod: (spec: Partial<PodSpec>) => boolean,
): Promise<void> {
  const template = request.definition.podTemplate?.(request.object);
  if (template?.spec === undefined) return;
  const { policy, errors } = await policyFor(request, reader);
  const { warn, audit } = policy;
  if (errors.length === 0 && warn.level === 'privileged' && audit.level === 'privileged') return;
  if (isExemptPod(template.spec)) {
    request.annotate(EXEMPT, 'runtimeClass');
    return;
  }
  const pod = { metadata: template.metadata ?? {}, spec: template.spec };
  auditOf(pod, audit, errors, request);
  warnOf(pod, warn, request);
}

type JudgedPod = Parameters<typeof podSecurityViolations>[1];

/** The violations of a level by a pod or a pod template; undefined when there are none. */
function shortcoming(pod: JudgedPod, level: LevelVersion): string | undefined {
  const violations = podSecurityViolations(level, pod);
  if (violations.length === 0) return undefined;
  return `would violate PodSecurity "${formatLevel(level)}": ${formatViolations(violations)}`;
}

function auditOf(pod: JudgedPod, level: LevelVersion, errors: readonly FieldError[], request: AdmissionRequest): void {
  if (errors.length > 0) {
    const texts = errors.map((error) => `${error.field}: ${formatFieldError(error)}`);
    request.annotate(MISREAD, `Failed to parse policy: ${texts.length === 1 ? texts.join() : `[${texts.join(', ')}]`}`);
  }
  const text = shortcoming(pod, level);
  if (text !== undefined) request.annotate(AUDITED, text);
}

function warnOf(pod: JudgedPod, level: LevelVersion, { warn }: AdmissionRequest): void {
  const text = shortcoming(pod, level);
  if (text !== undefined) warn(text);
}

async function policyFor(
  { namespace }: AdmissionRequest,
  reader: AdmissionReader,
): Promise<ReturnType<typeof podSecurityOf>> {
  const found = await reader.find<Namespace>(NAMESPACES, '', namespace);
  if (found === undefined) throw StatusError.internal(`failed to lookup namespace ${JSON.stringify(namespace)}`);
  return podSecurityOf(found.metadata.labels ?? {});
}

/** Whether an update adds a container or changes an image. Other relevant fields of a pod are immutable. */
function isSignificant(spec: NonNullable<Pod['spec']>, old: Partial<PodSpec> = {}): boolean {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec;
  if (containers.length !== (old.containers ?? []).length) return true;
  if (initContainers.length !== (old.initContainers ?? []).length) return true;
  return (
    containers.some(({ image }, i) => image !== old.containers?.[i]?.image) ||
    initContainers.some(({ image }, i) => image !== old.initContainers?.[i]?.image) ||
    ephemeralContainers.some(({ name, image }) => {
      const before = (old.ephemeralContainers ?? []).find((other) => other.name === name);
      return before === undefined || before.image !== image;
    })
  );
}

/** Rejects invalid labels. Warns about existing pods that violate a new level. */
async function judgeNamespace(
  request: AdmissionRequest,
  reader: AdmissionReader,
  { exempt, looksAt }: { readonly exempt: boolean; readonly looksAt: (pods: readonly Pod[]) => readonly Pod[] },
): Promise<void> {
  const { object, old, name } = request;
  const { policy, errors } = podSecurityOf(object.metadata.labels ?? {});
  const before = old === undefined ? undefined : podSecurityOf(old.metadata.labels ?? {});
  if (errors.length > 0 && !equalJson(errors, before?.errors ?? [])) {
    throw StatusError.invalid('', 'Namespace', name, errors);
  }
  const ignored = exempt ? exemptNamespaceWarning(name, policy) : undefined;
  if (before === undefined) {
    if (ignored !== undefined) request.warn(ignored);
    return;
  }
  const { enforce } = policy;
  const was = before.policy.enforce;
  const stricter = strictness(enforce.level) > strictness(was.level);
  if (enforce.level === 'privileged' || (enforce.version === was.version && !stricter)) return;
  if (ignored !== undefined) request.warn(ignored);
  if (exempt) return;
  for (const text of warningsOf(looksAt(await reader.list<Pod>(PODS, name)), name, enforce)) request.warn(text);
}

function warningsOf(pods: readonly Pod[], namespace: string, level: LevelVersion): readonly string[] {
  const chosen = onePerController(pods).slice(0, MAX_PODS);
  const names = new Map<string, string[]>();
  for (const { metadata, spec } of chosen) {
    const violations = spec === undefined ? [] : podSecurityViolations(level, { metadata, spec });
    if (violations.length === 0) continue;
    const text = violations.map(({ reason }) => reason).join(', ');
    names.set(text, [...(names.get(text) ?? []), metadata.name ?? '']);
  }
  const told = [...names].map(([text, found]) => {
    const [first = ''] = found.sort();
    const more = found.length - 1;
    return more === 0 ? `${first}: ${text}` : `${first} (and ${more} other ${more === 1 ? 'pod' : 'pods'}): ${text}`;
  });
  return [
    ...(chosen.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${chosen.length} of ${pods.length} existing pods`,
        ]
      : []),
    ...(told.length > 0
      ? [`existing pods in namespace "${namespace}" violate the new PodSecurity enforce level "${formatLevel(level)}"`]
      : []),
    ...told.sort(),
  ];
}

/** Sorts one pod of each controller to the front, since the others are similar. */
function onePerController(pods: readonly Pod[]): readonly Pod[] {
  const seen = new Set<string>();
  const [first, rest]: [Pod[], Pod[]] = [[], []];
  for (const pod of pods) {
    const uid = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    (uid !== undefined && seen.has(uid) ? rest : first).push(pod);
    if (uid !== undefined) seen.add(uid);
  }
  return [...first, ...rest];
}
