import type Docker from 'dockerode';
import { DeadlineError } from '@gantry/base';
import { LABEL, type Owner } from '../runtime/labels.ts';
import type { EngineInfo, EnginePrivilege, EngineRuntime } from '../runtime/engine.ts';
import { createContainer, getJson } from './dial.ts';
import { describeDockerError, fromDocker, idempotent } from './docker-error.ts';
import type { EngineCalls } from './engine-calls.ts';
import { withoutLabels } from './options/identity.ts';
import type { PodGroups } from './pod-groups.ts';

/** The kubelet reports a runtime that has not responded for 30 s as down. The node is checked every 5 s. */
const PING_MS = 15_000;

/** Information about the engine, and the probe of its privilege. */
export function dockerEngine(calls: EngineCalls, groups: Pick<PodGroups, 'support'>): EngineRuntime {
  return {
    info: async (signal) => {
      try {
        const info = (await calls.read(signal, (docker, abort) => getJson(docker, { path: '/info', abort }))) as Record<
          string,
          unknown
        >;
        return {
          id: String(info['ID']),
          name: String(info['Name']),
          version: String(info['ServerVersion']),
          cpus: Number(info['NCPU']),
          memoryBytes: Number(info['MemTotal']),
          kernel: String(info['KernelVersion']),
          os: String(info['OperatingSystem']),
          architecture: String(info['Architecture']),
          recursiveReadOnly: recursiveReadOnlyOf(String(info['ServerVersion']), String(info['KernelVersion'])),
          ...securityOf(info['SecurityOptions']),
          podGroups: await groups.support(String(info['CgroupDriver'])),
          runtimes: Object.keys((info['Runtimes'] as object | undefined) ?? {}),
        };
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    ping: async (signal) => {
      try {
        await calls.read(
          signal,
          (docker, abortSignal) => getJson(docker, { path: '/_ping', abort: abortSignal }),
          PING_MS,
        );
        // An engine whose container operations hang still responds to a ping.
        await calls.read(signal, (docker, abortSignal) => docker.listContainers({ limit: 1, abortSignal }), PING_MS);
      } catch (error) {
        throw fromDocker(error, 'Runtime');
      }
    },
    probe: (image, owner, signal) => probe(calls, image, owner, signal),
  };
}

/** Recursive read-only mounts need an engine from version 25 on and a kernel from 5.12 on. */
export function recursiveReadOnlyOf(version: string, kernel: string): EngineInfo['recursiveReadOnly'] {
  const [major = 0, minor = 0] = kernel.split('.').map((part) => Number.parseInt(part, 10));
  const isNewKernel = major > 5 || (major === 5 && minor >= 12);
  return Number.parseInt(version, 10) >= 25 && isNewKernel ? 'supported' : 'unsupported';
}

/** Parses `name=seccomp,profile=default`, `name=apparmor`, …: one entry per supported mechanism. */
export function securityOf(options: unknown): Pick<EngineInfo, 'appArmor' | 'seccomp'> {
  const entries = (Array.isArray(options) ? options : []).map((option) => new Set(String(option).split(',')));
  const seccomp = entries.find((entry) => entry.has('name=seccomp'));
  return {
    appArmor: entries.some((entry) => entry.has('name=apparmor')) ? 'enabled' : 'disabled',
    seccomp:
      seccomp === undefined ? 'unavailable' : seccomp.has('profile=unconfined') ? 'unconfined' : 'default-profile',
  };
}

/**
 * Recognises `invalid CapAdd: capability not supported by your kernel or not available in the current environment: "CAP_SYS_RESOURCE"`.
 */
function isRefusedRight(error: unknown): boolean {
  const { status, message } = describeDockerError(error);
  return status === 400 && message.includes('CAP_SYS_RESOURCE');
}

/** Starts a test container with a negative OOM score and SYS_RESOURCE; the engine needs the same capability for both. */
async function probe(calls: EngineCalls, image: string, owner: Owner, signal: AbortSignal): Promise<EnginePrivilege> {
  let container: Docker.Container;
  try {
    container = await calls.change(signal, async (docker, abortSignal) => {
      const { Config: config } = (await getJson(docker, {
        path: `/images/${image}/json`,
        abort: abortSignal,
      })) as Docker.ImageInspectInfo;
      const options = {
        Image: image,
        Labels: {
          ...withoutLabels(Object.keys(config.Labels ?? {})),
          [LABEL.cluster]: owner.cluster,
          [LABEL.node]: owner.node,
          [LABEL.containerName]: 'probe',
        },
        HostConfig: { NetworkMode: 'none', OomScoreAdj: -999, CapAdd: ['SYS_RESOURCE'], RestartPolicy: { Name: 'no' } },
      };
      return createContainer(docker, options, abortSignal);
    });
  } catch (error) {
    // Newer engines already refuse the creation.
    if (isRefusedRight(error)) return 'sys-resource-unknown';
    throw fromDocker(error, 'Runtime');
  }
  try {
    await calls.change(signal, (_docker, abortSignal) => container.start({ abortSignal }));
    return 'full';
  } catch (error) {
    if (signal.aborted || error instanceof DeadlineError) throw fromDocker(error, 'Runtime');
    // The engine refused, so it lacks the capability.
    return 'no-sys-resource';
  } finally {
    const { signal: never } = new AbortController();
    await idempotent(() =>
      calls.change(never, (_docker, abortSignal) => container.remove({ force: true, abortSignal })),
    );
  }
}
