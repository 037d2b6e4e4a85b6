import type { Instant } from '@gantry/base';
import type { Container } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { containerHash, type PodContainer } from '../spec/pod-containers.ts';
import { shouldRestart } from '../spec/restart-policy.ts';
import type { BackOffEntry } from './back-off.ts';
import { exitCodeOf, latestAttempt, nextAttempt, type PodInSandbox } from './observed-pod.ts';
import type { PlanDraft, Waiting } from './pod-plan.ts';
import { crashLoopBackOff, nextRestartDelayMs, restartAt } from './restart-delay.ts';

/** How long a failed pull shows as ErrImagePull before it shows as ImagePullBackOff. */
const PULL_ERROR_SHOWN_MS = 2_000;

interface StartCandidate extends PodInSandbox, PodContainer {
  readonly latest: ContainerState | undefined;
  /** Whether the spec has changed since the newest attempt. */
  readonly definition: 'same' | 'changed';
  /** `again`: an earlier exit does not count, because it happened in another sandbox. */
  readonly mode: 'by-policy' | 'again';
}

/** A reason not to start a container now. `decided`: the container is not started, and later rules are skipped. */
type StartRule = (candidate: StartCandidate, draft: PlanDraft) => 'decided' | 'next-rule';

/** Applied in this order. To add a reason that delays a start, add a rule here. */
const START_RULES: readonly StartRule[] = [
  function isRunning({ container, containers }) {
    // Includes an earlier attempt that is being stopped: two attempts never run at once.
    const runs = containers.some(({ name, state }) => name === container.name && state === 'running');
    return runs ? 'decided' : 'next-rule';
  },
  function wasNeverStarted({ latest }, draft) {
    if (latest?.state !== 'created') return 'next-rule';
    // It was left by an agent that ended between create and start, or was prepared for another sandbox or definition.
    draft.actions.push({ kind: 'removeContainer', id: latest.id });
    return 'decided';
  },
  function hasEndedForGood(candidate) {
    const { pod, container, definition, mode } = candidate;
    if (mode === 'again' || definition === 'changed') return 'next-rule';
    const exitCode = exitCodeOf(candidate, container.name);
    return exitCode === undefined || shouldRestart(pod, candidate, exitCode) ? 'next-rule' : 'decided';
  },
  function waitsForItsRestart({ pod, container, latest, definition, memory, now }, draft) {
    const startAt =
      latest === undefined || definition === 'changed' ? now : restartAt(latest, memory.maxRestartDelayMs);
    if (latest === undefined || now >= startAt) return 'next-rule';
    draft.requeue(startAt);
    draft.waiting.set(container.name, crashLoopBackOff(pod, latest, memory.maxRestartDelayMs));
    return 'decided';
  },
  function backsOff({ container, memory, now }, draft) {
    const entry = memory.backOffs.get(container.name);
    if (entry === undefined) return 'next-rule';
    draft.waiting.set(container.name, waitingFor(draft, container, entry, now));
    if (now >= entry.retryAt) return 'next-rule';
    draft.requeue(entry.retryAt);
    return 'decided';
  },
];

/** Starts one container unless a rule prevents it. Returns which of the two happened. */
export function planStart(
  draft: PlanDraft,
  observed: PodInSandbox,
  item: PodContainer,
  mode: StartCandidate['mode'] = 'by-policy',
): 'starts' | 'does-not' {
  const { container, role } = item;
  const newest = latestAttempt(observed, container.name);
  const definition = newest !== undefined && newest.hash !== containerHash(container) ? 'changed' : 'same';
  const preparedId = definition === 'same' ? preparedOf(observed, newest) : undefined;
  const latest = preparedId === undefined ? newest : undefined;
  const candidate: StartCandidate = { ...observed, ...item, latest, definition, mode };
  if (START_RULES.some((rule) => rule(candidate, draft) === 'decided')) return 'does-not';
  draft.actions.push({
    kind: 'startContainer',
    container,
    role,
    attempt: preparedId === undefined ? nextAttempt(observed, container.name) : (newest?.attempt ?? 0),
    sandboxId: observed.sandbox.id,
    restartDelayMs:
      latest === undefined
        ? (observed.memory.restartDelays.get(container.name) ?? 0)
        : // With a changed definition, the delay starts anew, as in the kubelet.
          nextRestartDelayMs(definition === 'changed' ? undefined : latest, observed.memory.maxRestartDelayMs),
    preparedId,
  });
  return 'starts';
}

/** The id of a container that was created for this sandbox and is not started yet. */
function preparedOf({ memory, sandbox }: PodInSandbox, newest: ContainerState | undefined): string | undefined {
  if (newest?.state !== 'created' || newest.sandboxId !== sandbox.id) return undefined;
  return memory.prepared.get(newest.name)?.id === newest.id ? newest.id : undefined;
}

function waitingFor(draft: PlanDraft, container: Container, entry: BackOffEntry, now: Instant): Waiting {
  const shownUntil = entry.failedAt + PULL_ERROR_SHOWN_MS;
  if (entry.reason === 'ErrImagePull' && now < shownUntil) draft.requeue(shownUntil);
  if (entry.reason !== 'ErrImagePull' || now < shownUntil) return { reason: entry.reason, message: entry.message };
  return {
    reason: 'ImagePullBackOff',
    message: `Back-off pulling image "${container.image ?? ''}": ErrImagePull: ${entry.message}`,
  };
}
