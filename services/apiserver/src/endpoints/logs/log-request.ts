import { lastRunOf, type Pod } from '@gantry/objects';
import type { LogRequest } from './agent-logs.ts';
import type { LogOptions } from './log-options.ts';

/** The request to an agent for a container's log; `now` is in Unix milliseconds. */
export function logRequest(pod: Pod, container: string, options: LogOptions, now: number): LogRequest {
  const { sinceSeconds, sinceTime, tailLines, limitBytes } = options;
  const sinceMs = sinceTime ?? (sinceSeconds === undefined ? undefined : now - sinceSeconds * 1000);
  return {
    namespace: pod.metadata.namespace ?? '',
    pod: pod.metadata.name ?? '',
    podUid: pod.metadata.uid ?? '',
    container,
    follow: options.follow,
    previousId: options.previous ? lastRunOf(pod, container) : '',
    timestamps: options.timestamps,
    ...(tailLines === undefined ? {} : { tailLines: toInt64(tailLines) }),
    ...(limitBytes === undefined ? {} : { limitBytes: toInt64(limitBytes) }),
    ...(sinceMs === undefined ? {} : { sinceMs: toInt64(sinceMs) }),
  };
}

/** A number for an agent: what is beyond the exact numbers means everything, and no log is older than 1970. */
function toInt64(value: number): bigint {
  return BigInt(Math.floor(Math.min(Math.max(value, 0), Number.MAX_SAFE_INTEGER)));
}
