import type { Instant } from '@gantry/base';
import type { NodeUsageReply } from '@gantry/proto';
import type { NodeUsage, PodUsage, Usage, Window } from './usage-source.ts';

/** Maximum difference between the clocks of agent and apiserver, and the longest window. */
const MAX_APART_MS = 3_600_000;

/** Converts the reply of an agent. Drops invalid numbers, since agents are not trusted. */
export function readNodeUsage({ node, atMs, windowMs, pods }: NodeUsageReply, now: Instant): NodeUsage {
  const window = readWindow(atMs, windowMs, now);
  const usage = readUsage(node);
  const read = pods.map((pod): readonly [string, PodUsage | undefined] => {
    const measured = readWindow(pod.atMs, pod.windowMs, now);
    const containers = pod.containers.map((one) => [one.name, readUsage(one.usage)] as const);
    const known = containers.filter((one): one is readonly [string, Usage] => one[1] !== undefined);
    const isWhole = known.length === containers.length && known.length > 0;
    return [pod.podUid, measured === undefined || !isWhole ? undefined : { ...measured, containers: new Map(known) }];
  });
  return {
    node: usage === undefined || window === undefined ? undefined : { ...usage, ...window },
    pods: new Map(read.filter((one): one is readonly [string, PodUsage] => one[1] !== undefined)),
  };
}

function readWindow(atMs: bigint, windowMs: bigint, now: Instant): Window | undefined {
  const at = Number(atMs);
  const length = Number(windowMs);
  return Math.abs(now - at) > MAX_APART_MS || length <= 0 || length > MAX_APART_MS
    ? undefined
    : { at, windowMs: length };
}

function readUsage(
  usage: { readonly cpuNanoCores: bigint; readonly memoryBytes: bigint } | undefined,
): Usage | undefined {
  if (usage === undefined || usage.cpuNanoCores < 0n || usage.memoryBytes < 0n) return undefined;
  return { cpuNanoCores: Number(usage.cpuNanoCores), memoryBytes: Number(usage.memoryBytes) };
}
