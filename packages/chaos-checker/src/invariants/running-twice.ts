import type { ContainerState, World } from '../history/world.ts';
import type { Findings } from '../verdict.ts';
import type { Observer } from './invariant.ts';
import { podOf, type PodOfContainer } from './pod-containers.ts';

/** Events of different engines are that far out of order at most. */
const CLOCK_SKEW_MS = 1000;

/**
 * Reports two containers that run at the same time although they have the same identity. `identityOf` of undefined leaves a container
 * out; `differ` says which two of an identity must not run together. Of two engines, an overlap within their delay does not count.
 */
export function findRunningTwice(
  world: World,
  findings: Findings,
  identityOf: (pod: PodOfContainer) => string | undefined,
  differ: (one: PodOfContainer, other: PodOfContainer) => boolean,
): Observer {
  const running = new Map<string, Map<string, { pod: PodOfContainer; state: ContainerState }>>();
  const overlaps = new Map<string, { one: ContainerState; other: ContainerState; what: string; fromMs: number }>();
  const end = (key: string, atMs: number) => {
    for (const [id, { one, other, what, fromMs }] of overlaps) {
      if (`${one.host}/${one.id}` !== key && `${other.host}/${other.id}` !== key) continue;
      overlaps.delete(id);
      if (one.host !== other.host && atMs - fromMs <= CLOCK_SKEW_MS) continue;
      findings.violation(fromMs, `${what} for ${atMs - fromMs} ms`, one.source, other.source);
    }
  };
  return {
    container({ before, after, atMs }) {
      const state = after ?? before;
      const pod = podOf(world, state);
      const identity = pod === undefined ? undefined : identityOf(pod);
      if (state === undefined || pod === undefined || identity === undefined) return;
      const key = `${state.host}/${state.id}`;
      const others = running.get(identity) ?? new Map<string, { pod: PodOfContainer; state: ContainerState }>();
      if (after?.running !== true) {
        others.delete(key);
        if (others.size === 0) running.delete(identity);
        end(key, atMs);
        return;
      }
      if (others.has(key)) return;
      findings.checked();
      for (const [otherKey, other] of others) {
        if (!differ(pod, other.pod)) continue;
        const what = `${other.state.name} on ${other.pod.node} and ${after.name} on ${pod.node} ran together`;
        overlaps.set(`${otherKey} ${key}`, { one: other.state, other: after, what, fromMs: atMs });
      }
      others.set(key, { pod, state: after });
      running.set(identity, others);
    },
    finish() {
      for (const { one } of overlaps.values()) end(`${one.host}/${one.id}`, world.nowMs);
    },
  };
}
