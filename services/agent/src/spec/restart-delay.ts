import type { Pod } from '@gantry/objects';

/** On a pod: the longest delay before a restart of its containers, in seconds from 1 to 300. It only shortens the agent's. */
export const RESTART_DELAY_ANNOTATION = 'gantry.dev/max-restart-delay-seconds';

/** The longest delay before a restart in milliseconds, and what is wrong with the pod's annotation, which then does not count. */
export function maxRestartDelay(
  pod: Pod | undefined,
  agentMaxMs: number,
): { readonly ms: number; readonly fault?: string } {
  const text = pod?.metadata.annotations?.[RESTART_DELAY_ANNOTATION];
  if (text === undefined) return { ms: agentMaxMs };
  const seconds = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (seconds >= 1 && seconds <= 300) return { ms: Math.min(agentMaxMs, seconds * 1000) };
  const fault = `annotation ${RESTART_DELAY_ANNOTATION}: ${JSON.stringify(text)} is not a whole number from 1 to 300`;
  return { ms: agentMaxMs, fault };
}
