import type { FaultLine } from '../artifacts.ts';
import type { World } from '../history/world.ts';
import type { Source } from '../read-artifacts.ts';
import type { Invariant } from './invariant.ts';
import { isStruck } from './struck.ts';
import { podOf } from './pod-containers.ts';

/**
 * I12 (Kubernetes' DaemonRestart test). While an agent is stopped, paused or cut off and comes back, the containers of its node go on: no
 * container that ran when the fault began ends, unless its pod is being deleted or does not always restart. Pods that run at most once
 * are left out: an agent that is cut off stops them. Checked for faults on agents during which no other fault acts. From the engines'
 * events, etcd and the faults.
 */
export const agentsKeepContainers: Invariant = {
  id: 'I12',
  title: 'The restart of an agent restarts no container',
  unit: 'containers during faults of agents',
  needs: ['etcd', 'engine', 'faults'],
  observe(world, findings) {
    let current: { fault: FaultLine; source: Source; nodes: ReadonlySet<string>; ran: Map<string, string> } | undefined;
    return {
      fault(line, source) {
        if (line.phase !== 'start') {
          if (line.phase === 'healthy' && current?.fault.id === line.id) {
            findings.checked(current.ran.size);
            current = undefined;
          }
          return;
        }
        const nodes = world.faults.size === 1 ? nodesOf(world, line) : new Set<string>();
        current = nodes.size === 0 ? undefined : { fault: line, source, nodes, ran: runningOn(world, nodes) };
      },
      container({ before, after, atMs, source }) {
        if (current === undefined || before?.running !== true || after?.running === true) return;
        const uid = current.ran.get(`${before.host}/${before.id}`);
        if (uid === undefined) return;
        const pod = world.byUid.get(uid);
        const ending = pod?.object?.metadata?.deletionTimestamp !== undefined;
        if (pod === undefined || ending || pod.object?.spec?.restartPolicy !== 'Always') return;
        const { fault } = current;
        findings.violation(
          atMs,
          `${before.name} ended during ${fault.kind} of ${fault.target}`,
          current.source,
          source,
        );
      },
    };
  },
};

/** The node of the agent that a fault struck: of the container `<cluster>-agent-<number>`, it is `<host>-<number>`. Empty if several fit. */
function nodesOf(world: World, fault: FaultLine): ReadonlySet<string> {
  const agents = [...world.containers.values()].filter(({ name }) => /-agent-\d+$/.test(name) && isStruck(fault, name));
  const numbers = agents.flatMap(({ name }) => /-\d+$/.exec(name)?.[0] ?? []);
  const names = [...world.list('nodes')]
    .map(({ name }) => name)
    .filter((name) => numbers.some((number) => name.endsWith(number)));
  return new Set(names.length === 1 ? names : []);
}

function runningOn(world: World, nodes: ReadonlySet<string>): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, state] of world.containers) {
    const pod = podOf(world, state);
    const isFenced = state.labels['gantry.instances'] === 'at-most-one';
    if (state.running && pod !== undefined && nodes.has(pod.node) && !isFenced) found.set(key, pod.uid);
  }
  return found;
}
