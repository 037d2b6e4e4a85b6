import { readFile } from 'node:fs/promises';
import type Docker from 'dockerode';
import type { AgentContainers, SelfContainer } from '../runtime/agent-containers.ts';
import { describeDockerError, fromDocker } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';

const COMPOSE = {
  project: 'com.docker.compose.project',
  service: 'com.docker.compose.service',
  number: 'com.docker.compose.container-number',
  oneOff: 'com.docker.compose.oneoff',
} as const;

/** Finds the agents' own containers by Compose's labels. */
export function dockerAgentContainers(calls: EngineCalls): AgentContainers {
  return {
    describeSelf: async (signal) => {
      const id = await ownContainerId();
      if (id === undefined) return undefined;
      try {
        return describe(
          await calls.read(signal, (docker, abortSignal) => docker.getContainer(id).inspect({ abortSignal })),
        );
      } catch (error) {
        if (describeDockerError(error).status === 404) return undefined;
        throw fromDocker(error, 'Runtime');
      }
    },
    listNumbers: async (project, service, signal) => {
      try {
        const label = [`${COMPOSE.project}=${project}`, `${COMPOSE.service}=${service}`, `${COMPOSE.oneOff}=False`];
        const containers = await calls.read(signal, (docker, abortSignal) =>
          docker.listContainers({ all: true, filters: { label }, abortSignal }),
        );
        const numbers = new Map<number, 'running' | 'stopped'>();
        for (const container of containers) {
          const number = Number(container.Labels[COMPOSE.number]);
          // While Compose recreates a container, the old container and its successor exist at the same time.
          if (numbers.get(number) !== 'running')
            numbers.set(number, container.State === 'running' ? 'running' : 'stopped');
        }
        return numbers;
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    removeUnusedVolume: async (volume, signal) => {
      try {
        await calls.change(signal, (docker, abortSignal) => docker.getVolume(volume).remove({ abortSignal }));
      } catch (error) {
        const { status } = describeDockerError(error);
        if (status !== 404 && status !== 409) throw fromDocker(error, 'Runtime');
      }
    },
  };
}

/** The id of this process's container. On every cgroup version, the engine mounts files from a folder with that id. */
async function ownContainerId(): Promise<string | undefined> {
  try {
    const mounts = await readFile('/proc/self/mountinfo', 'utf8');
    return /\/containers\/([0-9a-f]{64})\/(?:hostname|hosts|resolv\.conf)/.exec(mounts)?.[1];
  } catch {
    // Without /proc this is not Linux, and so not a container of the engine.
    return undefined;
  }
}

function describe(container: Docker.ContainerInspectInfo): SelfContainer {
  const labels = container.Config.Labels;
  const project = labels[COMPOSE.project];
  return {
    id: container.Id,
    image: container.Image,
    compose:
      project === undefined
        ? undefined
        : {
            project,
            service: labels[COMPOSE.service] ?? '',
            number: Number(labels[COMPOSE.number]),
            kind: labels[COMPOSE.oneOff] === 'True' ? 'one-off' : 'service',
          },
    mounts: container.Mounts.map((mount) => ({
      containerPath: mount.Destination,
      hostPath: mount.Source,
      ...(mount.Type === 'volume' && mount.Name !== undefined ? { volume: mount.Name } : {}),
    })),
    addresses: Object.fromEntries(
      Object.entries(container.NetworkSettings.Networks).map(([name, network]) => [name, network.IPAddress]),
    ),
    gateways: Object.fromEntries(
      Object.entries(container.NetworkSettings.Networks)
        .filter(([, { Gateway }]) => Gateway !== '')
        .map(([name, { Gateway }]) => [name, Gateway]),
    ),
  };
}
