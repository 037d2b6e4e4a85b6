import type { Instant } from '@gantry/base';
import type { ContainerState } from '../runtime/runtime.ts';

const INITIAL_DELAY_MS = 10_000;
const MAX_DELAY_MS = 300_000;
/** A container that ran this long has earned a fresh start. */
const RESET_AFTER_MS = 600_000;

function delayMs(ended: ContainerState): number {
  const ranMs = (ended.finishedAt ?? ended.createdAt) - (ended.startedAt ?? ended.finishedAt ?? ended.createdAt);
  return ranMs >= RESET_AFTER_MS ? 0 : ended.restartDelayMs;
}

/** When the successor of an ended container may start: at once after the first end, then 10 s, 20 s, … 300 s. */
export function restartAt(ended: ContainerState): Instant {
  return (ended.finishedAt ?? ended.createdAt) + delayMs(ended);
}

/** How long the successor's own successor must wait: kept with the successor, so that no agent needs to remember it. */
export function nextRestartDelayMs(ended: ContainerState | undefined): number {
  if (ended === undefined) return 0;
  const delay = delayMs(ended);
  return delay === 0 ? INITIAL_DELAY_MS : Math.min(MAX_DELAY_MS, delay * 2);
}

/** `10s`, `1m20s`, `5m0s`: as Go prints durations in kubelet's messages. */
export function formatDelay(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
}
