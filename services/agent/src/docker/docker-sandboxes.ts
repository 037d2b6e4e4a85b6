import { AgentError } from '../runtime/agent-error.ts';
import type { SandboxRuntime, SandboxSpec } from '../runtime/sandboxes.ts';
import { sandboxOptions } from './options/sandbox-options.ts';
import { createContainer } from './dial.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import type { PodBridge } from './pod-bridge.ts';
import type { PodGroups } from './pod-groups.ts';
import type { PodLinks } from './pod-links.ts';
import type { KnownContainers } from './container-index.ts';

const ELSEWHERE = "the engine has not put the sandbox into the pod's control group, whose limits would not hold";

/** Sandboxes as pause containers. The agent itself connects them to their network where it can. */
export function dockerSandboxes(
  calls: EngineCalls,
  { inspections, containers }: KnownContainers,
  links: PodLinks,
  groups: Pick<PodGroups, 'updatePodGroup' | 'holds'>,
): SandboxRuntime {
  const bridgeOf = async ({ network }: SandboxSpec, signal: AbortSignal) =>
    network.kind === 'pod' && network.nameServer === 'network' ? links.bridge(network.name, signal) : undefined;
  const start = async (id: string, spec: SandboxSpec, bridge: PodBridge | undefined, signal: AbortSignal) => {
    await inspections.changing(id, () =>
      calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal })),
    );
    if (bridge === undefined || spec.network.kind !== 'pod') return;
    const started = await inspections.inspect({ Id: id }, signal);
    await links.connect(bridge, { id, pid: started?.State.Pid ?? 0 }, spec.network.address);
  };
  const remove = (id: string, signal: AbortSignal) =>
    inspections.changing(id, () =>
      idempotent(() =>
        calls.change(signal, (docker, abortSignal) =>
          docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
        ),
      ),
    );
  return {
    createSandbox: async (spec, signal, created) => {
      try {
        const bridge = await bridgeOf(spec, signal);
        if (spec.network.kind === 'pod' && bridge !== undefined) await links.checkFree(bridge, spec.network.address);
        const pod = { owner: spec.owner, uid: spec.pod.uid };
        if (spec.resources !== undefined) await groups.updatePodGroup(pod, spec.resources);
        const options = sandboxOptions(spec, bridge);
        const { id } = await calls.change(signal, (docker, abortSignal) =>
          createContainer(docker, options, abortSignal),
        );
        containers.came({ id, labels: options.Labels ?? {} });
        try {
          created?.(id);
          await start(id, spec, bridge, signal);
          if (spec.resources !== undefined && !(await groups.holds(pod, id)))
            throw new AgentError('Runtime', ELSEWHERE);
        } catch (error) {
          // Remove the sandbox even if the caller has aborted; otherwise its address would stay in use.
          await remove(id, new AbortController().signal);
          throw error;
        }
        return id;
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    stopSandbox: (id, signal) =>
      inspections.changing(id, () =>
        idempotent(() => calls.change(signal, (docker, abortSignal) => docker.getContainer(id).kill({ abortSignal }))),
      ),
    removeSandbox: remove,
  };
}
