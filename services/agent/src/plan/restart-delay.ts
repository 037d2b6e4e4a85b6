import type { Instant } from '@gantry/base';
import type { Pod } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import { formatPod } from '../spec/pod-names.ts';
import type { Waiting } from './pod-plan.ts';

const INITIAL_DELAY_MS = 10_000;
/** The longest delay, unless the agent's setting or the pod shortens it (Kubernetes: MaxCrashLoopBackOff). */
export const MAX_RESTART_DELAY_MS = 300_000;
/** The delay is reset after a container has run this many times the longest delay: ten minutes by default, as in the kubelet. */
const RESET_FACTOR = 2;

function delayMs(ended: ContainerState, maxMs: number): number {
  if (ended.age === 'before-restart') return 0;
  const ranMs = (ended.finishedAt ?? ended.createdAt) - (ended.startedAt ?? ended.finishedAt ?? ended.createdAt);
  return ranMs >= RESET_FACTOR * maxMs ? 0 : Math.min(ended.restartDelayMs, maxMs);
}

/**
 * When the next attempt of an ended container may start: at once after the first end, then after 10 s, 20 s, … `maxMs`. As in the kubelet,
 * a restart of the machine ends all delays. The end of a sandbox does not: a container that ends its own sandbox must wait, too.
 */
export function restartAt(ended: ContainerState, maxMs: number): Instant {
  return (ended.finishedAt ?? ended.createdAt) + delayMs(ended, maxMs);
}

/** The delay before the attempt after the next one. It is stored with the next attempt, so it survives a restart of the agent. */
export function nextRestartDelayMs(ended: ContainerState | undefined, maxMs: number): number {
  if (ended === undefined || ended.age === 'before-restart') return 0;
  const delay = delayMs(ended, maxMs);
  return Math.min(maxMs, delay === 0 ? INITIAL_DELAY_MS : delay * 2);
}

/** The waiting reason of an ended container before its next attempt. */
export function crashLoopBackOff(pod: Pod, { name, restartDelayMs }: ContainerState, maxMs: number): Waiting {
  const delay = formatDelay(Math.min(restartDelayMs, maxMs));
  return {
    reason: 'CrashLoopBackOff',
    message: `back-off ${delay} restarting failed container=${name} pod=${formatPod(pod)}`,
  };
}

/** `10s`, `1m20s`, `5m0s`: Go's format, as in the kubelet's messages. */
export function formatDelay(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
