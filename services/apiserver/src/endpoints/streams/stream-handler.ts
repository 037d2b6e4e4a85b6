import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Verb } from '@gantry/apimachinery';
import { type CancelTimer, type Clock, onAbort } from '@gantry/base';
import { ADMINISTRATORS, type Node, type Pod, StatusError } from '@gantry/objects';
import type { AgentAddress } from '../../agents/agent-connection.ts';
import { type AcceptedStream, AgentRefusedError, type AgentStreams } from '../../agents/agent-streams.ts';
import { NOT_AUDITED } from '../../audit/index.ts';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import type { StreamStartSchema } from '@gantry/proto';
import {
  type RegistryReader,
  type RegistryStreams,
  type RequestContext,
  requestContext,
  streamOptions,
  type Target,
} from '../../registry/index.ts';
import { asksForUpgrade, upgradeOf } from '@gantry/streams';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { ResourceRoute } from '../request-info.ts';
import { sendText } from '../../http/respond.ts';
import { forward, UnreachableError } from '../proxy/forward.ts';

/** How long an agent may take to tell a client that its stream was ended. */
const END_MS = 5000;

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
    if (upgradeOf(exchange.req) === undefined || !asksForUpgrade(exchange.req))
      throw StatusError.badRequest('Upgrade request required');
    const start = {
      namespace,
      pod: name,
      podUid: pod.metadata.uid ?? '',
      user: exchange.user.name,
    };
    try {
      const streams = targetOf(target.subresource, pod, container, asked);
      await pass(exchange, await agents.open(agent, { ...start, target: streams }), clock);
    } catch (error) {
      if (error instanceof UnreachableError) throw StatusError.unavailable(error.message);
      if (!(error instanceof AgentRefusedError)) throw error;
      // As the kubelet answers, which kubectl prints after `unable to upgrade connection`.
      await sendText(exchange, error.code, error.message);
    }
  };
}

/** PodExecOptions and PodAttachOptions. */
export interface AskedStreams {
  readonly stdin?: boolean;
  readonly stdout?: boolean;
  readonly stderr?: boolean;
  readonly tty?: boolean;
  readonly container?: string;
  readonly command?: readonly string[];
}

/** The streams that are asked for, as the kubelet reads them. The terminal of an attach is the container's, whatever the client says. */
export function targetOf(
  subresource: string,
  pod: Pod,
  container: string,
  { stdin = false, stdout = false, stderr: asked = false, tty: wanted = false, command = [] }: AskedStreams,
): MessageInitShape<typeof StreamStartSchema>['target'] {
  if (subresource === 'portforward') return { case: 'ports', value: {} };
  const stderr = asked && !wanted;
  if (!stdin && !stdout && !stderr) {
    throw new AgentRefusedError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  const kind = subresource === 'exec' ? 'exec' : 'attach';
  const tty = kind === 'exec' ? wanted : hasTerminal(pod, container);
  if (tty && stderr) {
    throw new AgentRefusedError(500, 'rpc error: code = InvalidArgument desc = tty and stderr cannot both be true');
  }
  return { case: kind, value: { container, command: [...command], stdin, stdout, stderr, tty } };
}

function hasTerminal({ spec }: Pod, name: string): boolean {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers].find((one) => one.name === name)?.tty === true;
}

/** Passes the client's connection on to the agent, which speaks the client's protocol, until the stream has ended. */
async function pass(exchange: AuthenticatedExchange, accepted: AcceptedStream, clock: Clock): Promise<void> {
  using stream = accepted;
  const cut = new AbortController();
  let cancel: CancelTimer = () => undefined;
  const end = (): void => {
    // The agent tells the client that the stream has been ended.
    stream[Symbol.dispose]();
    cancel = clock.setTimer(END_MS, () => cut.abort());
  };
  using _ = onAbort(exchange.signal, end);
  try {
    await forward(exchange, {
      backend: stream.backend,
      target: `${stream.path}?${new URLSearchParams(exchange.query.getAll('ports').map((port): [string, string] => ['ports', port]))}`,
      prefix: '',
      headers: {},
      redirects: 'refused',
      onSwitched: () => {
        exchange.audit.started(101);
        exchange.begun();
      },
      cut: AbortSignal.any([stream.lost, cut.signal]),
    });
  } finally {
    cancel();
  }
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
