import type { ForwarderRuntime } from '../runtime/forwarders.ts';
import { LABEL } from '../runtime/labels.ts';
import { fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { forwarderOptions } from './options/forwarder-options.ts';

/** Forwarders as containers of a Docker engine. */
export function dockerForwarders(calls: EngineCalls): ForwarderRuntime {
  const remove = (id: string, signal: AbortSignal) =>
    idempotent(() =>
      calls.change(signal, (docker, abortSignal) =>
        docker.getContainer(id).remove({ force: true, v: true, abortSignal }),
      ),
    );
  return {
    listForwarders: async (cluster, signal) => {
      try {
        const containers = await calls.read(signal, (docker, abortSignal) =>
          docker.listContainers({
            all: true,
            filters: { label: [`${LABEL.cluster}=${cluster}`, LABEL.forwarder] },
            abortSignal,
          }),
        );
        return containers.map(({ Id: id, Labels: labels, State: state }) => ({
          id,
          uid: labels[LABEL.forwarder] ?? '',
          hash: labels[LABEL.forwarderHash] ?? '',
          state: state === 'running' || state === 'restarting' ? 'running' : 'stopped',
        }));
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    startForwarder: async (spec, signal) => {
      try {
        const { id } = await calls.change(signal, (docker, abortSignal) =>
          docker.createContainer({ ...forwarderOptions(spec), abortSignal }),
        );
        try {
          await calls.change(signal, (docker, abortSignal) => docker.getContainer(id).start({ abortSignal }));
        } catch (error) {
          // It goes although the caller may have left: it would hold its name.
          await remove(id, new AbortController().signal);
          throw error;
        }
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    removeForwarder: remove,
  };
}
