import { sandboxImage } from './image-volumes.ts';
import { type Pod, RUNTIME_CLASSES } from '@gantry/objects';
import { AgentError, isAgentError } from '../runtime/agent-error.ts';
import type { SandboxSpec, SandboxState } from '../runtime/sandboxes.ts';
import { ENGINE_SERVER, podResolver, type PodResolver } from '../spec/dns.ts';
import { sandboxRefusal } from '../spec/pod-rejection.ts';
import { sandboxSpec } from '../spec/sandbox-spec.ts';
import type { StartServices } from './worker-services.ts';
import { ignoreNotFound, type ObjectClient } from '@gantry/client';
import type { EngineInfo } from '../runtime/engine.ts';

/** If more addresses in a row are refused, the range is nearly full. */
const MAX_ADDRESSES_TRIED = 64;

/** A sandbox that the engine has created. */
export interface CreatedSandbox {
  readonly id: string;
  readonly group: SandboxState['group'];
  /** '' on the host's network. */
  readonly address: string;
}

/**
 * Starts a pod's sandbox on the first address that the engine accepts. `created` is called for each created sandbox before it starts.
 * AgentError 'Runtime' for a sandbox that this node cannot create.
 */
export async function startSandbox(
  pod: Pod,
  attempt: number,
  services: StartServices,
  signal: AbortSignal,
  created: (sandbox: CreatedSandbox) => void,
): Promise<CreatedSandbox> {
  const { addresses, owner, privilege, engine } = services;
  const refusal = sandboxRefusal(pod);
  if (refusal !== undefined) throw new AgentError('Runtime', refusal);
  const runtime = await runtimeHandler(pod, services, signal);
  const resolver = podResolver(pod, services.resolver);
  const omitted = resolver.kind === 'file' ? resolver.omitted : [];
  for (const message of omitted) services.events.event(pod, 'Warning', 'DNSConfigForming', message);
  const image = await sandboxImage(services, signal);
  const createOn = async (network: SandboxSpec['network']) => {
    const handler = runtime === undefined ? {} : { runtime };
    const instances = services.atMostOne.of(pod.metadata.uid ?? '');
    const spec = sandboxSpec({ owner, pod, instances, attempt, image, network, privilege, engine, ...handler });
    const address = network.kind === 'pod' ? network.address : '';
    const group: SandboxState['group'] = spec.resources === undefined ? 'engine' : 'pod';
    const id = await services.runtime.sandboxes.createSandbox(spec, signal, (made) =>
      created({ id: made, group, address }),
    );
    return { id, group, address };
  };
  if (pod.spec?.hostNetwork === true) {
    return await createOn({ kind: 'host' });
  }
  const nameServer = usesEngine(resolver) ? 'engine' : 'network';
  for (let tried = 0; tried < MAX_ADDRESSES_TRIED; tried++) {
    const address = addresses.take(nameServer);
    try {
      return await createOn({ kind: 'pod', name: services.podNetwork, address, nameServer });
    } catch (error) {
      if (!isAgentError(error, 'AddressInUse')) throw error;
      addresses.rest(address);
    }
  }
  throw new AgentError('NoAddress', `the engine refused ${MAX_ADDRESSES_TRIED} pod addresses as already in use`);
}

/** Whether the pod uses the engine's name server. */
function usesEngine(resolver: PodResolver): boolean {
  return resolver.kind === 'engine' || resolver.config.servers.includes(ENGINE_SERVER);
}

/**
 * The low-level runtime of the pod's RuntimeClass; undefined without a class. AgentError 'Runtime' when the class does not exist or the
 * engine does not have its runtime: a pod that needs a stronger sandbox must not run in an ordinary one.
 */
export async function runtimeHandler(
  { spec }: Pod,
  { client, engine }: { readonly client: ObjectClient; readonly engine: Pick<EngineInfo, 'runtimes'> },
  signal: AbortSignal,
): Promise<string | undefined> {
  const name = spec?.runtimeClassName ?? '';
  if (name === '') return undefined;
  const found = await ignoreNotFound(client.get(RUNTIME_CLASSES, { namespace: '', name }, signal));
  if (found === undefined) throw new AgentError('Runtime', `RuntimeClass ${JSON.stringify(name)} not found`);
  if (engine.runtimes.includes(found.handler)) return found.handler;
  const handler = JSON.stringify(found.handler);
  throw new AgentError('Runtime', `failed to get sandbox runtime: no runtime for ${handler} is configured`);
}
