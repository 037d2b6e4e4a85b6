import type { KubeObject } from '@gantry/objects';

/** Whether the condition Ready of a pod or node is true. */
export function isReady(
  object: (KubeObject & { status?: { conditions?: readonly { type: string; status: string }[] } }) | undefined,
): boolean {
  return object?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}
