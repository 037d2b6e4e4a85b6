import { type ContainerState, type ContainerStatus, hasEnded, type Pod, sidecarNames } from '@gantry/objects';
import { describedAs, type Column, ageColumn, column, formatAge, nameColumn } from '@gantry/apimachinery';

/** The pod status that `kubectl get pods` shows in one word, and counts of ready and restarted containers. */
interface PodSummary {
  readonly reason: string;
  readonly ready: number;
  readonly total: number;
  readonly restarts: number;
  /** The time at which a container last ended before a restart; '' without restarts. */
  readonly lastRestart: string;
}

interface Tally {
  ready: number;
  restarts: number;
  lastRestart: string;
}

function summarise(pod: Pod): PodSummary {
  const sidecars = sidecarNames(pod);
  const total = (pod.spec?.containers ?? []).length + sidecars.size;
  const init = summariseInit(pod, sidecars);
  const conditions = pod.status?.conditions ?? [];
  const gated = conditions.some(({ type, reason }) => type === 'PodScheduled' && reason === 'SchedulingGated');
  const start = gated ? 'SchedulingGated' : (pod.status?.reason ?? '') || (pod.status?.phase ?? '');
  const initialized = conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');
  const main =
    init.reason === undefined || initialized
      ? summariseMain(pod, init.reason ?? start, init.sidecars)
      : { reason: init.reason, ...init.all };
  return { ...main, reason: deletionReason(pod) ?? main.reason, total };
}

function deletionReason(pod: Pod): string | undefined {
  if (pod.metadata.deletionTimestamp === undefined) return undefined;
  if (pod.status?.reason === 'NodeLost') return 'Unknown';
  return hasEnded(pod) ? undefined : 'Terminating';
}

/** Summarises init containers up to the first one that is not finished; `reason` is undefined if all are. */
function summariseInit(
  pod: Pod,
  names: ReadonlySet<string>,
): { reason: string | undefined; all: Tally; sidecars: Tally } {
  const all: Tally = { ready: 0, restarts: 0, lastRestart: '' };
  const sidecars: Tally = { ready: 0, restarts: 0, lastRestart: '' };
  const statuses = pod.status?.initContainerStatuses ?? [];
  for (const [i, status] of statuses.entries()) {
    const sidecar = names.has(status.name);
    count(all, status);
    if (sidecar) count(sidecars, status);
    const { terminated, waiting } = status.state ?? {};
    if (terminated?.exitCode === 0) continue;
    if (sidecar && status.started === true) {
      if (status.ready) {
        all.ready++;
        sidecars.ready++;
      }
      continue;
    }
    const counted = `Init:${i}/${(pod.spec?.initContainers ?? []).length}`;
    if (terminated !== undefined) return { reason: `Init:${endReason(status.state)}`, all, sidecars };
    const why = waiting?.reason ?? '';
    return { reason: why === '' || why === 'PodInitializing' ? counted : `Init:${why}`, all, sidecars };
  }
  return { reason: undefined, all, sidecars };
}

function summariseMain(pod: Pod, start: string, sidecars: Tally): Tally & { reason: string } {
  const tally = { ...sidecars };
  let reason = start;
  let running = false;
  for (const status of [...(pod.status?.containerStatuses ?? [])].reverse()) {
    count(tally, status);
    const { waiting, terminated } = status.state ?? {};
    const why = waiting?.reason ?? '';
    if (why !== '') reason = why;
    else if (terminated !== undefined) reason = endReason(status.state);
    else if (status.ready && status.state?.running !== undefined) {
      running = true;
      tally.ready++;
    }
  }
  if (reason === 'Completed' && running) {
    const ready = (pod.status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
    reason = ready ? 'Running' : 'NotReady';
  }
  return { ...tally, reason };
}

function endReason(state: ContainerState | undefined): string {
  const { reason = '', signal = 0, exitCode = 0 } = state?.terminated ?? {};
  if (reason !== '') return reason;
  return signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`;
}

function count(tally: Tally, status: ContainerStatus): void {
  tally.restarts += status.restartCount;
  const ended = status.lastState?.terminated?.finishedAt ?? '';
  if (ended > tally.lastRestart) tally.lastRestart = ended;
}

function readinessGates(pod: Pod): string {
  const gates = pod.spec?.readinessGates ?? [];
  if (gates.length === 0) return '<none>';
  const met = gates.filter(({ conditionType }) =>
    (pod.status?.conditions ?? []).some(({ type, status }) => type === conditionType && status === 'True'),
  );
  return `${met.length}/${gates.length}`;
}

function orNone(text: string | undefined): string {
  return text === undefined || text === '' ? '<none>' : text;
}

export const podColumns: readonly Column<Pod>[] = [
  nameColumn,
  column('Ready', 'The aggregate readiness state of this pod for accepting traffic.', (pod) => {
    const { ready, total } = summarise(pod);
    return `${ready}/${total}`;
  }),
  column('Status', 'The aggregate status of the containers in this pod.', (pod) => summarise(pod).reason),
  column(
    'Restarts',
    'The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.',
    (pod, now) => {
      const { restarts, lastRestart } = summarise(pod);
      return restarts === 0 || lastRestart === ''
        ? String(restarts)
        : `${restarts} (${formatAge(lastRestart, now)} ago)`;
    },
  ),
  ageColumn,
  column(
    'IP',
    describedAs('core.v1.PodStatus', 'podIP'),
    ({ status }) => orNone(status?.podIPs?.[0]?.ip ?? status?.podIP),
    {
      wide: 'wide',
    },
  ),
  column('Node', describedAs('core.v1.PodSpec', 'nodeName'), ({ spec }) => orNone(spec?.nodeName), { wide: 'wide' }),
  column(
    'Nominated Node',
    describedAs('core.v1.PodStatus', 'nominatedNodeName'),
    ({ status }) => orNone(status?.nominatedNodeName),
    {
      wide: 'wide',
    },
  ),
  column('Readiness Gates', describedAs('core.v1.PodSpec', 'readinessGates'), readinessGates, { wide: 'wide' }),
];
