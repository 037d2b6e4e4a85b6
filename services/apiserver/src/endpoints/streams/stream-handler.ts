import type { Verb } from '@gantry/apimachinery';
import type { Clock } from '@gantry/base';
import { ADMINISTRATORS, type Node, type Pod, StatusError } from '@gantry/objects';
import type { AgentAddress } from '../../agents/agent-connection.ts';
import type { AgentStreams } from '../../agents/agent-streams.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import { upgradeOf } from '@gantry/streams';
import {
  type RegistryReader,
  type RegistryStreams,
  type RequestContext,
  requestContext,
  streamOptions,
  type Target,
} from '../../registry/index.ts';
import { asksForUpgrade, MessageMemory } from '@gantry/streams';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { ResourceRoute } from '../request-info.ts';
import { forwardPorts } from './forward-ports.ts';
import { type AskedStreams, serveCommand } from './serve-command.ts';
import { answerRefusal } from './stream-refusal.ts';
import type { StreamRequest } from './stream-request.ts';

export interface StreamDependencies {
  readonly registry: RegistryReader & RegistryStreams;
  readonly lookup: ObjectLookup;
  readonly agents: AgentStreams;
  readonly clock: Clock;
}

/** Serves `exec`, `attach` and `portforward` of pods, from the request to the end of the connection. */
export type StreamHandler = (exchange: AuthenticatedExchange, route: ResourceRoute, verb: Verb) => Promise<void>;

export function createStreamHandler(dependencies: StreamDependencies): StreamHandler {
  const { registry, lookup, agents, clock } = dependencies;
  const memory = new MessageMemory();
  return async (exchange, { definition, namespace, name, subresource }, verb) => {
    const target = { definition, namespace, name, subresource: subresource?.name ?? '' };
    const context = requestContext(exchange);
    const options = streamOptions(target, exchange.query);
    await registry.connect(context, target, verb, options);
    if (exchange.query.has('dryRun')) throw StatusError.badRequest('dryRun is not supported');
    const pod = await readPod(registry, context, target);
    // The options of exec and attach are what admission has seen.
    const asked = options as unknown as AskedStreams;
    const container = target.subresource === 'portforward' ? '' : selectContainer(pod, asked.container ?? '');
    const node = pod.spec?.nodeName ?? '';
    if (node === '') throw StatusError.badRequest(`pod ${name} does not have a host assigned`);
    const agent: AgentAddress = { node, host: addressOf(lookup.get('nodes', '', node), node) };
    const upgrade = upgradeOf(exchange.req);
    if (upgrade === undefined || !asksForUpgrade(exchange.req))
      throw StatusError.badRequest('Upgrade request required');
    const request: StreamRequest = {
      exchange,
      upgrade,
      pod,
      agent,
      agents,
      clock,
      messages: memory.of(exchange.user.name),
    };
    try {
      if (target.subresource === 'portforward') await forwardPorts(request);
      else await serveCommand(request, target.subresource === 'exec' ? 'exec' : 'attach', { ...asked, container });
    } catch (error) {
      await answerRefusal(exchange, error);
    }
  };
}

/** The pod itself needs no right of its own: the one to open the stream is enough. */
async function readPod(registry: RegistryReader, context: RequestContext, target: Target): Promise<Pod> {
  const own = { ...context, user: { ...context.user, groups: [ADMINISTRATORS] }, audit: NOT_AUDITED };
  const { object } = await registry.get(own, { ...target, subresource: '' }, '');
  return object;
}

/** The container that is meant; BadRequest, in Kubernetes' words, when that is not clear or it is not in the pod. */
export function selectContainer(pod: Pod, wanted: string): string {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
  const name = pod.metadata.name ?? '';
  const all = [...initContainers, ...containers, ...ephemeralContainers].map((one) => one.name);
  if (wanted !== '') {
    if (all.includes(wanted)) return wanted;
    throw StatusError.badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  const [first] = containers;
  if (first === undefined) throw StatusError.badRequest(`a container name must be specified for pod ${name}`);
  if (containers.length === 1) return first.name;
  throw StatusError.badRequest(`a container name must be specified for pod ${name}, choose one of: [${all.join(' ')}]`);
}

function addressOf(found: Partial<Node> | undefined, name: string): string {
  const internal = (found?.status?.addresses ?? []).find(({ type }) => type === 'InternalIP');
  if (internal === undefined) throw StatusError.unavailable(`node ${JSON.stringify(name)} has no InternalIP`);
  return internal.address;
}
