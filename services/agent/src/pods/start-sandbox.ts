import type { Pod } from '@gantry/objects';
import { AgentError, isAgentError } from '../runtime/agent-error.ts';
import type { SandboxSpec } from '../runtime/sandboxes.ts';
import { sandboxSpec } from '../spec/sandbox-spec.ts';
import type { WorkerServices } from './worker-services.ts';

/** More refused addresses in a row than this mean that the range is nearly full. */
const MAX_ADDRESSES_TRIED = 64;

/** Starts a pod's sandbox on the first address that the engine accepts. */
export async function startSandbox(
  pod: Pod,
  attempt: number,
  services: WorkerServices,
  signal: AbortSignal,
): Promise<void> {
  const { runtime, addresses, sandboxImage, owner, privilege } = services;
  if ((await runtime.images.inspectImage(sandboxImage, signal)) === undefined) {
    await runtime.images.pullImage(sandboxImage, signal);
  }
  const createOn = async (network: SandboxSpec['network']) => {
    const spec = sandboxSpec({ owner, pod, attempt, image: sandboxImage, network, engine: privilege });
    await runtime.sandboxes.createSandbox(spec, signal);
  };
  if (pod.spec?.hostNetwork === true) {
    await createOn({ kind: 'host' });
    return;
  }
  for (let tried = 0; tried < MAX_ADDRESSES_TRIED; tried++) {
    const address = addresses.take();
    try {
      await createOn({ kind: 'pod', name: services.podNetwork, address });
      return;
    } catch (error) {
      if (!isAgentError(error, 'AddressInUse')) throw error;
      addresses.rest(address);
    }
  }
  throw new AgentError('NoAddress', `the engine refused ${MAX_ADDRESSES_TRIED} pod addresses as already in use`);
}
