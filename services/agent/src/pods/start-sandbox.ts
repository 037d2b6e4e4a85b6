import type { Pod } from '@gantry/api';
import { AgentError, isAgentError } from '../agent-error.ts';
import type { SandboxSpec } from '../runtime/runtime.ts';
import { identityOf } from './container-spec.ts';
import { podHostname, sandboxDns } from './dns.ts';
import { graceSecondsOf } from './pod-containers.ts';
import { sandboxOomScore } from './resources.ts';
import type { WorkerServices } from './worker-services.ts';

/** More refusals in a row than this mean that the range is as good as full. */
const MAX_ADDRESSES_TRIED = 64;

/** Starts a pod's sandbox on the first address that the engine accepts. */
export async function startSandbox(
  pod: Pod,
  attempt: number,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, addresses, sandboxImage } = services;
  if ((await runtime.images.inspectImage(sandboxImage, signal)) === undefined) {
    await runtime.images.pullImage(sandboxImage, signal);
  }
  if (pod.spec?.hostNetwork === true) {
    await runtime.sandboxes.createSandbox(sandboxSpec(pod, attempt, { kind: 'host' }, services), signal);
    return;
  }
  for (let tried = 0; tried < MAX_ADDRESSES_TRIED; tried++) {
    const address = addresses.take();
    const network = { kind: 'pod' as const, name: services.podNetwork, address };
    try {
      await runtime.sandboxes.createSandbox(sandboxSpec(pod, attempt, network, services), signal);
      return;
    } catch (error) {
      if (!isAgentError(error, 'AddressInUse')) throw error;
      addresses.rest(address);
    }
  }
  throw new AgentError('NoAddress', `the engine refused ${MAX_ADDRESSES_TRIED} pod addresses as already in use`);
}

function sandboxSpec(
  pod: Pod,
  attempt: number,
  network: SandboxSpec['network'],
  { owner, sandboxImage, privilege }: WorkerServices,
): SandboxSpec {
  const sysctls = pod.spec?.securityContext?.sysctls ?? [];
  return {
    owner,
    pod: identityOf(pod),
    attempt,
    image: sandboxImage,
    hostname: podHostname(pod),
    network,
    hostAliases: (pod.spec?.hostAliases ?? []).map(({ ip, hostnames = [] }) => ({ ip, hostnames })),
    dns: sandboxDns(pod),
    sysctls: Object.fromEntries(sysctls.map(({ name, value }) => [name, value])),
    oomScoreAdj: sandboxOomScore(privilege),
    graceSeconds: graceSecondsOf(pod),
  };
}
