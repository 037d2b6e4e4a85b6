import type { ContainerRuntime, PauseRuntime } from '../runtime/containers.ts';
import type { EnginePrivilege } from '../runtime/engine.ts';
import { containerOptions } from './options/container-options.ts';
import { LABEL } from '../runtime/labels.ts';
import { resourceUpdate } from './options/resources.ts';
import { createContainer } from './dial.ts';
import { fromDocker, idempotent, describeDockerError } from './docker-error.ts';
import { type EngineCalls, REQUEST_MS } from './engine-calls.ts';
import type { DockerExecs } from './exec.ts';
import type { Inspections } from './inspections.ts';
import type { KnownContainers } from './container-index.ts';

/** Containers of pods. `privilege` is the result of the engine's probe, `machineStart` the current run of the machine. */
export function dockerContainers(
  calls: EngineCalls,
  execs: DockerExecs,
  { inspections, containers }: KnownContainers,
  privilege: () => EnginePrivilege,
  machineStart: string,
): ContainerRuntime {
  return {
    createContainer: async (spec, signal) => {
      try {
        const options = containerOptions(spec, privilege());
        if (machineStart !== '') options.Labels = { ...options.Labels, [LABEL.machineStart]: machineStart };
        const { id } = await calls.change(signal, (docker, abortSignal) =>
          createContainer(docker, options, abortSignal),
        );
        containers.came({ id, labels: options.Labels ?? {} });
        return id;
      } catch (error) {
        throw fromDocker(error, 'CreateContainerError');
      }
    },
    startContainer: async (id, signal) => {
      try {
        await inspections.changing(id, () =>
          calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal })),
        );
      } catch (error) {
        throw fromDocker(error, 'RunContainerError');
      }
    },
    stopContainer: async (id, graceSeconds, signal) => {
      const t = Math.max(0, Math.ceil(graceSeconds));
      const stop = () =>
        calls.read(
          signal,
          (docker, abortSignal) => docker.getContainer(id).stop({ t, abortSignal }),
          t * 1000 + REQUEST_MS,
        );
      await inspections.changing(id, () => idempotent(stop));
    },
    updateContainer: async (id, resources, signal) => {
      try {
        await inspections.changing(id, () =>
          calls.change(signal, (docker, abortSignal) =>
            docker.getContainer(id).update({ ...resourceUpdate(resources), abortSignal }),
          ),
        );
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    removeContainer: async (id, signal) => {
      const remove = () =>
        calls.change(signal, (docker, abortSignal) =>
          docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
        );
      await inspections.changing(id, () => idempotent(remove));
    },
    exec: (id, command, signal) => execs.run(id, command, signal),
  };
}

/** Resumes containers that something else has paused in the engine. */
export function dockerPauses(calls: EngineCalls, inspections: Pick<Inspections, 'changing'>): PauseRuntime {
  return {
    unpause: async (id, signal) => {
      try {
        await inspections.changing(id, () =>
          calls.change(signal, (docker, abortSignal) => docker.getContainer(id).unpause({ abortSignal })),
        );
      } catch (error) {
        const { status, message } = describeDockerError(error);
        // The engine has no status code for this error.
        if (status !== 404 && !/is not paused/i.test(message)) throw fromDocker(error, 'Runtime');
      }
    },
  };
}
