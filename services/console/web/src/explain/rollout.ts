import { append } from '@gantry/base';
import { controllerOf } from '@gantry/objects';
import type { Condition, Deployment, Event, KubeObject, Pod, ReplicaSet, ResourceQuota } from '@gantry/objects';
import { count, type Finding } from './finding.ts';
import { explainPod, type PodSurroundings } from './pod.ts';

/** What is around a workload. */
export interface WorkloadSurroundings extends PodSurroundings {
  readonly replicaSets: readonly ReplicaSet[];
  /** The pods of the namespace. */
  readonly namespacePods: readonly Pod[];
  readonly quotas?: readonly ResourceQuota[] | undefined;
  /** Events of the namespace. */
  readonly namespaceEvents: readonly Event[];
}

/** A workload of any kind, as far as this explains it. */
interface Workload extends KubeObject {
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

const TEMPLATE_HASH = 'pod-template-hash';
/** On pods of a StatefulSet: the name of their revision. */
const REVISION_HASH = 'controller-revision-hash';
/** What a new pod adds to in a quota. Others, such as `secrets` and `requests.storage`, keep no pod from being made. */
const COUNTED_OF_PODS = /^(?:pods|count\/pods|cpu|memory|ephemeral-storage|limits\..+|requests\.(?!storage$).+)$/;
/** Pods that are explained one by one. */
const EXPLAINED = 20;

/** Why a Deployment, ReplicaSet, StatefulSet, DaemonSet or Job is as it is, the most important first. */
export function explainWorkload(workload: Workload, around: WorkloadSurroundings): readonly Finding[] {
  const { metadata, status = {}, spec = {} } = workload;
  const findings: Finding[] = [];
  if (metadata.deletionTimestamp !== undefined) findings.push({ tone: 'waiting', text: 'It is being deleted.' });
  if (workload.kind === 'Job') return [...findings, ...jobFindings(workload, around)];
  if (Number(status['observedGeneration'] ?? 0) < (metadata.generation ?? 0))
    findings.push({
      tone: 'bad',
      text: 'Its controller has not seen the latest change yet: is a controller-manager running?',
    });
  const own =
    workload.kind === 'Deployment' ? deploymentParts(workload as Deployment, around) : plainParts(workload, around);
  const wanted = Number(status['desiredNumberScheduled'] ?? spec['replicas'] ?? 1);
  const unready = own.pods.filter((pod) => !isReady(pod));
  const ready = own.pods.length - unready.length;
  append(findings, own.findings);
  if (wanted === 0) findings.push({ tone: 'none', text: 'It wants no pods.' });
  else if (ready >= wanted && unready.length === 0)
    findings.push({ tone: 'good', text: `All ${count(wanted, 'pod')} are ready.` });
  else findings.push({ tone: 'waiting', text: `${ready} of ${count(wanted, 'pod')} are ready.` });
  if (own.pods.length < wanted) append(findings, creationFindings(own.makers, wanted - own.pods.length, around));
  append(findings, together(unready.slice(0, EXPLAINED).flatMap((pod) => podFindings(pod, around))));
  if (unready.length > EXPLAINED)
    findings.push({ tone: 'waiting', text: `${count(unready.length - EXPLAINED, 'further pod')} not ready.` });
  return findings;
}

interface Parts {
  readonly findings: readonly Finding[];
  /** The pods of the newest revision. */
  readonly pods: readonly Pod[];
  /** The objects that make these pods. */
  readonly makers: readonly KubeObject[];
}

function plainParts(workload: Workload, { namespacePods }: WorkloadSurroundings): Parts {
  const pods = podsOf(workload, namespacePods);
  return { findings: revisionFindings(workload, pods), pods, makers: [workload] };
}

interface UpdateStrategy {
  readonly type?: string;
  readonly rollingUpdate?: { readonly partition?: number; readonly maxUnavailable?: number | string };
}

/** Why pods of a StatefulSet or DaemonSet still have an earlier revision. */
function revisionFindings({ kind, spec = {}, status = {} }: Workload, pods: readonly Pod[]): readonly Finding[] {
  const isDaemonSet = kind === 'DaemonSet';
  if (!isDaemonSet && kind !== 'StatefulSet') return [];
  const updated = Number(status[isDaemonSet ? 'updatedNumberScheduled' : 'updatedReplicas'] ?? 0);
  const all = Number(status[isDaemonSet ? 'currentNumberScheduled' : 'replicas'] ?? 0);
  if (updated >= all) return [];
  const { type, rollingUpdate = {} } = (spec['updateStrategy'] ?? {}) as UpdateStrategy;
  const { partition = 0, maxUnavailable = 1 } = rollingUpdate;
  const replaces = `Its strategy replaces pods while no more than ${maxUnavailable} are unavailable: one that does not become ready holds up the others.`;
  const { start = 0 } = (spec['ordinals'] ?? {}) as { readonly start?: number };
  const above = namesOfRevisionBefore(String(status['updateRevision'] ?? ''), start + partition, pods);
  const details =
    type === 'OnDelete'
      ? ['Its strategy is OnDelete: a pod gets the newest revision when somebody deletes it.']
      : partition === 0
        ? [replaces]
        : [
            `Its partition is ${partition}: pods with numbers below ${start + partition} keep their revision.`,
            // Without the right to list them, no pod is known.
            ...(pods.length === 0 ? [replaces] : []),
            ...(above.length === 0 ? [] : [`Not kept by it: ${above.join(', ')}. ${replaces}`]),
          ];
  return [{ tone: 'waiting', text: `${updated} of ${count(all, 'pod')} have the newest revision.`, details }];
}

/** The pods of a StatefulSet from a number on that have an earlier revision. */
function namesOfRevisionBefore(revision: string, from: number, pods: readonly Pod[]): readonly string[] {
  return pods
    .filter(({ metadata: { labels, name = '' } }) => {
      const number = Number(name.slice(name.lastIndexOf('-') + 1));
      return number >= from && labels?.[REVISION_HASH] !== revision;
    })
    .map(({ metadata: { name = '' } }) => name);
}

/** What a Job waits for, or how it has ended. */
function jobFindings(job: Workload, around: WorkloadSurroundings): readonly Finding[] {
  const { spec = {}, status = {} } = job;
  const conditions = (status['conditions'] ?? []) as readonly Condition[];
  const ended = (type: string) => conditions.find((one) => one.type === type && one.status === 'True');
  const number = (name: string) => Number(status[name] ?? 0);
  const pods = podsOf(job, around.namespacePods);
  const unready = pods.filter((pod) => !isReady(pod) && pod.status?.phase !== 'Succeeded').slice(0, EXPLAINED);
  const ofPods = together(unready.flatMap((pod) => podFindings(pod, around)));
  if (ended('Complete') !== undefined)
    return [{ tone: 'good', text: `It is complete: ${count(number('succeeded'), 'pod')} succeeded.` }];
  const failed = ended('Failed') ?? ended('FailureTarget');
  if (failed !== undefined)
    return [
      { tone: 'bad', text: `It has failed (${failed.reason ?? ''}).`, details: [failed.message ?? ''] },
      ...ofPods,
    ];
  if (spec['suspend'] === true) return [{ tone: 'waiting', text: 'It is suspended: it makes no pods.' }];
  const wanted = Number(spec['completions'] ?? spec['parallelism'] ?? 1);
  const retries = Number(spec['backoffLimit'] ?? 6);
  return [
    {
      tone: 'waiting',
      text: `${number('succeeded')} of ${count(wanted, 'pod')} have succeeded; ${number('active')} run or wait, ${number('ready')} of them ready.`,
    },
    ...(number('failed') === 0
      ? []
      : [
          {
            tone: 'waiting' as const,
            text: `${count(number('failed'), 'pod')} failed; the Job fails after more than ${retries}.`,
          },
        ]),
    ...(number('active') === 0 ? creationFindings([job], wanted - number('succeeded'), around) : []),
    ...ofPods,
  ];
}

function deploymentParts(deployment: Deployment, { replicaSets, namespacePods }: WorkloadSurroundings): Parts {
  const { spec, status } = deployment;
  const findings: Finding[] = [];
  if (spec?.paused === true)
    findings.push({ tone: 'waiting', text: 'It is paused: changes of its template are not rolled out.' });
  const progressing = status?.conditions?.find(({ type }) => type === 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded')
    findings.push({
      tone: 'bad',
      text: `The rollout has made no progress for ${spec?.progressDeadlineSeconds ?? 600} s.`,
      details: [progressing.message ?? ''],
    });
  const own = replicaSets
    .filter((set) => controllerOf(set)?.uid === deployment.metadata.uid)
    .toSorted((a, b) => revisionOf(b) - revisionOf(a));
  const [newest, ...older] = own;
  const old = older.filter((set) => (set.status?.replicas ?? 0) > 0);
  if (newest === undefined) return { findings, pods: [], makers: [deployment] };
  const wanted = spec?.replicas ?? 1;
  if (old.length > 0) {
    const left = old.reduce((sum, set) => sum + (set.status?.replicas ?? 0), 0);
    findings.push({
      tone: 'waiting',
      text: `A rollout runs: ${newest.status?.availableReplicas ?? 0} of ${count(wanted, 'pod')} of revision ${revisionOf(newest)} are available, ${count(left, 'older pod')} left.`,
      details: [strategyOf(deployment)],
    });
  }
  return { findings, pods: podsOf(newest, namespacePods), makers: [newest] };
}

function strategyOf({ spec }: Deployment): string {
  if (spec?.strategy?.type === 'Recreate') return 'Its strategy is Recreate: all older pods end before new ones start.';
  const { maxSurge = '25%', maxUnavailable = '25%' } = spec?.strategy?.rollingUpdate ?? {};
  return `Its strategy allows ${maxSurge} more and ${maxUnavailable} fewer pods than wanted: older pods end only as new ones become available.`;
}

function revisionOf({ metadata }: ReplicaSet): number {
  return Number(metadata.annotations?.['deployment.kubernetes.io/revision'] ?? 0);
}

function podsOf({ metadata, kind }: KubeObject, pods: readonly Pod[]): readonly Pod[] {
  const hash = kind === 'ReplicaSet' ? metadata.labels?.[TEMPLATE_HASH] : undefined;
  return pods.filter(
    (pod) =>
      controllerOf(pod)?.uid === metadata.uid &&
      (hash === undefined || pod.metadata.labels?.[TEMPLATE_HASH] === hash) &&
      pod.metadata.deletionTimestamp === undefined,
  );
}

/** Why pods are not made: what their makers were told, and quotas that are used up. */
function creationFindings(
  makers: readonly KubeObject[],
  missing: number,
  { namespaceEvents, quotas = [] }: WorkloadSurroundings,
): readonly Finding[] {
  const uids = new Set(makers.map(({ metadata }) => metadata.uid));
  const refusals = namespaceEvents.filter(
    ({ reason, involvedObject }) => reason === 'FailedCreate' && uids.has(involvedObject?.uid),
  );
  const said = [...new Set(refusals.map(({ message = '' }) => message))].slice(0, 3);
  const full = quotas.flatMap(({ metadata, status }) =>
    Object.entries(status?.hard ?? {})
      .filter(([name, hard]) => COUNTED_OF_PODS.test(name) && status?.used?.[name] === hard && hard !== '0')
      .map(
        ([name, hard]) =>
          `The quota ${metadata.name ?? ''} is used up: ${name} ${status?.used?.[name] ?? ''} of ${hard}.`,
      ),
  );
  if (said.length === 0 && full.length === 0)
    return [{ tone: 'waiting', text: `${count(missing, 'pod')} not made yet.` }];
  return [{ tone: 'bad', text: `${count(missing, 'pod')} cannot be made:`, details: [...said, ...full] }];
}

interface PodFinding {
  readonly pod: string;
  readonly finding: Finding;
}

function podFindings(pod: Pod, around: WorkloadSurroundings): readonly PodFinding[] {
  const events = around.namespaceEvents.filter(({ involvedObject }) => involvedObject?.uid === pod.metadata.uid);
  return explainPod(pod, { ...around, events })
    .filter(({ tone }) => tone !== 'good')
    .slice(0, 3)
    .map((finding) => ({ pod: pod.metadata.name ?? '', finding }));
}

/** What is the same for several pods is said once. */
function together(all: readonly PodFinding[]): readonly Finding[] {
  const groups = Map.groupBy(all, ({ finding: { text, details = [] } }) => [text, ...details].join('\n'));
  return [...groups.values()].flatMap((group) => {
    const [first] = group;
    if (first === undefined) return [];
    const { tone, text, details = [] } = first.finding;
    const pods = group.map(({ pod }) => pod);
    if (pods.length === 1) return [{ tone, text: `${first.pod}: ${text}`, details }];
    return [{ tone, text: `${count(pods.length, 'pod')}: ${text}`, details: [...details, pods.join(', ')] }];
  });
}

function isReady({ status }: Pod): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}
