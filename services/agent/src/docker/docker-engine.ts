import type Docker from 'dockerode';
import { LABEL, type Owner } from '../runtime/labels.ts';
import type { EngineInfo, EnginePrivilege, EngineRuntime } from '../runtime/engine.ts';
import { fromDocker, idempotent } from './docker-error.ts';

/** The engine's information about itself, and the probe of its privilege. */
export function dockerEngine(docker: Docker): EngineRuntime {
  return {
    info: async () => {
      try {
        const info = (await docker.info()) as Record<string, unknown>;
        return {
          id: String(info['ID']),
          name: String(info['Name']),
          version: String(info['ServerVersion']),
          cpus: Number(info['NCPU']),
          memoryBytes: Number(info['MemTotal']),
          kernel: String(info['KernelVersion']),
          os: String(info['OperatingSystem']),
          architecture: String(info['Architecture']),
          ...securityOf(info['SecurityOptions']),
          runtimes: Object.keys((info['Runtimes'] as object | undefined) ?? {}),
        };
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    ping: async () => {
      try {
        await docker.ping();
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    probe: (image, owner) => probe(docker, image, owner),
  };
}

/** Reads `name=seccomp,profile=default`, `name=apparmor`, …: one entry per mechanism that the engine has. */
export function securityOf(options: unknown): Pick<EngineInfo, 'appArmor' | 'seccomp'> {
  const entries = (Array.isArray(options) ? options : []).map((option) => new Set(String(option).split(',')));
  const seccomp = entries.find((entry) => entry.has('name=seccomp'));
  return {
    appArmor: entries.some((entry) => entry.has('name=apparmor')) ? 'enabled' : 'disabled',
    seccomp:
      seccomp === undefined ? 'unavailable' : seccomp.has('profile=unconfined') ? 'unconfined' : 'default-profile',
  };
}

/** Starts a test container with a negative OOM score and SYS_RESOURCE: both need the same right of the engine. */
async function probe(docker: Docker, image: string, owner: Owner): Promise<EnginePrivilege> {
  let container: Docker.Container;
  try {
    container = await docker.createContainer({
      Image: image,
      Labels: { [LABEL.cluster]: owner.cluster, [LABEL.node]: owner.node, [LABEL.containerName]: 'probe' },
      HostConfig: { NetworkMode: 'none', OomScoreAdj: -999, CapAdd: ['SYS_RESOURCE'], RestartPolicy: { Name: 'no' } },
    });
  } catch (error) {
    throw fromDocker(error, 'Runtime');
  }
  try {
    await container.start();
    return 'full';
  } catch {
    // The engine refused: it lacks the right.
    return 'no-sys-resource';
  } finally {
    await idempotent(() => container.remove({ force: true }));
  }
}
