import type { ContainerState, ContainerStatus, Pod } from '@gantry/objects';

/** The termination messages of a pod's containers together (Kubernetes: MaxPodTerminationMessageLogLength). */
const MAX_POD_BYTES = 12 * 1024;

/** Cuts each termination message to its container's share of what a pod may report, in bytes of UTF-8. */
export function limitMessages({ spec }: Pod, statuses: readonly ContainerStatus[]): readonly ContainerStatus[] {
  const kinds = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers];
  const count = kinds.reduce((sum, containers) => sum + (containers?.length ?? 0), 0);
  const maxBytes = Math.floor(MAX_POD_BYTES / Math.max(1, count));
  return statuses.map((status) => ({
    ...status,
    ...(status.state === undefined ? {} : { state: limited(status.state, maxBytes) }),
    ...(status.lastState === undefined ? {} : { lastState: limited(status.lastState, maxBytes) }),
  }));
}

function limited(state: ContainerState, maxBytes: number): ContainerState {
  const message = state.terminated?.message;
  if (state.terminated === undefined || message === undefined || Buffer.byteLength(message) <= maxBytes) return state;
  return { ...state, terminated: { ...state.terminated, message: cut(message, maxBytes) } };
}

/** The longest beginning that fits, without a part of a character. */
function cut(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return bytes.subarray(0, end).toString();
}
