import { append } from '@gantry/base';
import { claimsOfPod, secretsOfPod } from '@gantry/objects';
import type { ContainerStatus, Event, Node, PersistentVolume, PersistentVolumeClaim, Pod } from '@gantry/objects';
import { formatAge } from '../shell/ages.ts';
import { count, type Finding } from './finding.ts';
import { judgeNodes } from './nodes.ts';

/** What is around a pod. Absent: the user may not see it, and nothing is said about it. */
export interface PodSurroundings {
  readonly now: number;
  readonly events: readonly Event[];
  readonly nodes?: readonly Node[] | undefined;
  readonly pods?: readonly Pod[] | undefined;
  readonly claims?: readonly PersistentVolumeClaim[] | undefined;
  readonly volumes?: readonly PersistentVolume[] | undefined;
  /** Names. */
  readonly configMaps?: ReadonlySet<string> | undefined;
  readonly secrets?: ReadonlySet<string> | undefined;
}

/** Why a pod is as it is, the most important first. */
export function explainPod(pod: Pod, around: PodSurroundings): readonly Finding[] {
  const { status } = pod;
  const findings = [...deletion(pod, around.now), ...missingObjects(pod, around)];
  if (status?.phase === 'Succeeded')
    return [...findings, { tone: 'good', text: 'All its containers have ended without an error.' }];
  if (status?.phase === 'Failed')
    return [
      ...findings,
      {
        tone: 'bad',
        text: `It has failed${status.reason === undefined ? '' : ` (${status.reason})`}. ${status.message ?? ''}`.trim(),
      },
      ...containerFindings(pod, around),
    ];
  if ((pod.spec?.nodeName ?? '') === '') return [...findings, ...placement(pod, around)];
  append(findings, containerFindings(pod, around));
  const ready = status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready?.status === 'True')
    findings.push({ tone: 'good', text: `It runs on ${pod.spec?.nodeName ?? ''} and is ready.` });
  else append(findings, gates(pod));
  if (findings.length === 0)
    findings.push({
      tone: 'waiting',
      text: `It is placed on ${pod.spec?.nodeName ?? ''}, which has not reported a container yet.`,
    });
  return findings;
}

function deletion({ metadata, spec }: Pod, now: number): readonly Finding[] {
  if (metadata.deletionTimestamp === undefined) return [];
  const over = now - Date.parse(metadata.deletionTimestamp);
  const grace = metadata.deletionGracePeriodSeconds ?? spec?.terminationGracePeriodSeconds ?? 30;
  const text =
    over < 0
      ? `It is being deleted: its containers have ${formatAge(-over)} of their ${grace} s left to end.`
      : `It is being deleted, and its time to end (${grace} s) was over ${formatAge(over)} ago.`;
  const finalizers = metadata.finalizers ?? [];
  return [
    { tone: over < 0 ? 'waiting' : 'bad', text },
    ...(finalizers.length === 0
      ? []
      : [{ tone: 'waiting' as const, text: `It stays until these finalizers are removed: ${finalizers.join(', ')}.` }]),
  ];
}

/** ConfigMaps, Secrets and claims that the pod needs and that are not there. */
function missingObjects(pod: Pod, { claims, configMaps, secrets }: PodSurroundings): readonly Finding[] {
  const missing = (
    kind: string,
    names: Iterable<string>,
    present: ReadonlySet<string> | undefined,
  ): readonly Finding[] =>
    present === undefined
      ? []
      : [...new Set(names)]
          .filter((name) => !present.has(name))
          .map((name) => ({ tone: 'bad', text: `It needs the ${kind} ${name}, which does not exist.` }));
  const optional = optionalSecrets(pod);
  return [
    ...missing('ConfigMap', configMapsOf(pod), configMaps),
    ...missing(
      'Secret',
      [...secretsOfPod(pod)].filter((name) => !optional.has(name)),
      secrets,
    ),
    ...missing(
      'PersistentVolumeClaim',
      claimsOfPod(pod),
      claims && new Set(claims.map(({ metadata }) => metadata.name ?? '')),
    ),
  ];
}

/** Secrets without which the pod starts: those that are marked so, and those for pulling images. */
function optionalSecrets({ spec }: Pod): ReadonlySet<string> {
  const volumes = (spec?.volumes ?? []).flatMap(({ secret }) =>
    secret?.optional === true ? [secret.secretName ?? ''] : [],
  );
  const env = containersOf(spec).flatMap(({ env: variables = [], envFrom = [] }) => [
    ...variables.flatMap(({ valueFrom }) =>
      valueFrom?.secretKeyRef?.optional === true ? [valueFrom.secretKeyRef.name ?? ''] : [],
    ),
    ...envFrom.flatMap(({ secretRef }) => (secretRef?.optional === true ? [secretRef.name ?? ''] : [])),
  ]);
  return new Set([...volumes, ...env, ...(spec?.imagePullSecrets ?? []).map(({ name = '' }) => name)]);
}

/** The ConfigMaps without which the pod does not start. */
function configMapsOf({ spec }: Pod): readonly string[] {
  const references = [
    ...(spec?.volumes ?? []).map(({ configMap }) => configMap),
    ...containersOf(spec).flatMap(({ env = [], envFrom = [] }) => [
      ...env.map(({ valueFrom }) => valueFrom?.configMapKeyRef),
      ...envFrom.map(({ configMapRef }) => configMapRef),
    ]),
  ];
  return references.flatMap((reference) =>
    reference?.name === undefined || reference.optional === true ? [] : [reference.name],
  );
}

function containersOf(spec: Pod['spec']) {
  return [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])];
}

/** Why a pod has no node. */
function placement(pod: Pod, around: PodSurroundings): readonly Finding[] {
  const scheduling = pod.spec?.schedulingGates ?? [];
  if (scheduling.length > 0)
    return [
      {
        tone: 'waiting',
        text: `It is not scheduled before these gates are removed: ${scheduling.map(({ name }) => name).join(', ')}.`,
      },
    ];
  const said = pod.status?.conditions?.find(({ type, status }) => type === 'PodScheduled' && status === 'False');
  const nominated = pod.status?.nominatedNodeName;
  return [
    said === undefined
      ? { tone: 'waiting', text: 'The scheduler has not looked at it yet.' }
      : {
          tone: 'bad',
          text: 'No node takes it.',
          details: [`The scheduler says: ${said.message ?? said.reason ?? ''}`],
        },
    ...(nominated === undefined || nominated === ''
      ? []
      : [
          {
            tone: 'waiting' as const,
            text: `Room is being made for it on ${nominated}: pods of lower priority are being evicted.`,
          },
        ]),
    ...claimFindings(pod, around),
    ...nodeFindings(pod, around),
  ];
}

function nodeFindings(pod: Pod, { nodes, pods, claims, volumes = [] }: PodSurroundings): readonly Finding[] {
  if (nodes === undefined) return [];
  if (nodes.length === 0) return [{ tone: 'bad', text: 'The cluster has no node.' }];
  const own = claimsOfPod(pod);
  const bound = new Set(
    claims?.filter(({ metadata }) => own.includes(metadata.name ?? '')).map(({ spec }) => spec?.volumeName),
  );
  const verdicts = judgeNodes(pod, {
    nodes,
    pods: pods ?? [],
    volumes: volumes.filter(({ metadata }) => bound.has(metadata.name)),
  });
  const refused = verdicts.filter(({ reasons }) => reasons.length > 0);
  const open = verdicts.filter(({ reasons }) => reasons.length === 0).map(({ node }) => node);
  return [
    ...(refused.length === 0
      ? []
      : [
          {
            tone: 'bad' as const,
            text: `${refused.length} of ${count(nodes.length, 'node')} cannot take it:`,
            details: refused.map(({ node, reasons }) => `${node}: ${reasons.join('; ')}`),
          },
        ]),
    ...(open.length === 0
      ? []
      : [
          {
            tone: 'waiting' as const,
            text: `Nothing that is seen here forbids ${open.length > 5 ? count(open.length, 'node') : open.join(', ')}.`,
          },
        ]),
  ];
}

function claimFindings(pod: Pod, { claims }: PodSurroundings): readonly Finding[] {
  const own = claimsOfPod(pod);
  return (claims ?? [])
    .filter(({ metadata, status }) => own.includes(metadata.name ?? '') && status?.phase !== 'Bound')
    .map(({ metadata, spec, status }) => ({
      tone: 'bad',
      text: `Its claim ${metadata.name ?? ''} is ${status?.phase ?? 'Pending'}: no volume is bound to it (class ${spec?.storageClassName ?? 'default'}).`,
    }));
}

/** What holds up containers, init containers first. */
function containerFindings(pod: Pod, around: PodSurroundings): readonly Finding[] {
  const { initContainerStatuses = [], containerStatuses = [] } = pod.status ?? {};
  const init = initContainerStatuses.find(({ state, ready }) => state?.terminated?.exitCode !== 0 && ready !== true);
  if (init !== undefined) {
    const done = initContainerStatuses.indexOf(init);
    return [
      {
        tone: 'waiting',
        text: `${done} of ${count(initContainerStatuses.length, 'init container')} have ended; ${init.name} is next.`,
      },
      ...containerFinding(init, pod, around, 'init container'),
    ];
  }
  return containerStatuses.flatMap((status) => containerFinding(status, pod, around, 'container'));
}

function containerFinding(
  status: ContainerStatus,
  pod: Pod,
  { now, events }: PodSurroundings,
  role: string,
): readonly Finding[] {
  const { name, image, state, lastState, ready, restartCount = 0 } = status;
  const who = `The ${role} ${name}`;
  const waiting = state?.waiting;
  const last = lastState?.terminated ?? state?.terminated;
  if (waiting !== undefined) {
    const { reason = '', message = '' } = waiting;
    if (/Image/.test(reason))
      return [{ tone: 'bad', text: `${who} does not start: its image ${image} cannot be pulled.`, details: [message] }];
    if (reason === 'CrashLoopBackOff')
      return [
        {
          tone: 'bad',
          text: `${who} ends again and again (${count(restartCount, 'restart')}). ${endText(last, now)}`.trim(),
          details: [message],
        },
      ];
    const isError = /Err|Config|Invalid|Cannot|Failed/.test(reason);
    return [
      {
        tone: isError ? 'bad' : 'waiting',
        text: `${who} waits: ${reason || 'it is being created'}.`,
        details: message === '' ? [] : [message],
      },
    ];
  }
  if (state?.terminated !== undefined) {
    const isGood = state.terminated.exitCode === 0;
    return [{ tone: isGood ? 'none' : 'bad', text: `${who} is not running. ${endText(state.terminated, now)}`.trim() }];
  }
  const restarts =
    restartCount > 0 && last !== undefined
      ? [
          {
            tone: 'waiting' as const,
            text: `${who} was started again ${count(restartCount, 'time')}. ${endText(last, now)}`,
          },
        ]
      : [];
  if (ready !== false || role !== 'container') return restarts;
  return [
    ...restarts,
    { tone: 'waiting', text: `${who} runs, but is not ready.`, details: probeDetails(name, pod, events) },
  ];
}

type Terminated = NonNullable<NonNullable<ContainerStatus['state']>['terminated']>;

function endText(last: Terminated | undefined, now: number): string {
  if (last === undefined) return '';
  const { exitCode, reason, finishedAt, message } = last;
  const ago = finishedAt === undefined ? '' : ` ${formatAge(now - Date.parse(finishedAt))} ago`;
  const why =
    reason === 'OOMKilled'
      ? ': it used more memory than its limit'
      : exitCode === 137
        ? ': it was killed'
        : reason === undefined || /^(Error|Completed)$/.test(reason)
          ? ''
          : ` (${reason})`;
  return `It last ended${ago} with ${exitCode}${why}${message === undefined ? '' : `: ${message}`}.`;
}

function probeDetails(container: string, pod: Pod, events: readonly Event[]): readonly string[] {
  const spec = pod.spec?.containers?.find(({ name }) => name === container);
  const failures = events.filter(
    ({ reason, involvedObject }) =>
      reason === 'Unhealthy' &&
      (involvedObject?.fieldPath === undefined || involvedObject.fieldPath.includes(`{${container}}`)),
  );
  const said = [...new Set(failures.map(({ message = '' }) => message))].slice(0, 3);
  if (spec?.readinessProbe === undefined && spec?.startupProbe === undefined) return said;
  const probe = spec.startupProbe === undefined ? 'readiness probe' : 'startup probe';
  return said.length > 0 ? said : [`Its ${probe} has not succeeded yet.`];
}

/** Readiness gates that nobody has opened. */
function gates({ spec, status }: Pod): readonly Finding[] {
  return (spec?.readinessGates ?? [])
    .filter(
      ({ conditionType }) =>
        !status?.conditions?.some(({ type, status: is }) => type === conditionType && is === 'True'),
    )
    .map(({ conditionType }) => ({ tone: 'waiting', text: `Its readiness gate ${conditionType} is not open.` }));
}
