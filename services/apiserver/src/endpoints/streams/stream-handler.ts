import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Verb } from '@gantry/apimachinery';
import { type CancelTimer, type Clock, onAbort } from '@gantry/base';
import { ADMINISTRATORS, type Node, type Pod, StatusError } from '@gantry/objects';
import type { AgentAddress } from '../../agents/agent-connection.ts';
import { type OpenStream, StreamRefusedError, type AgentStreams } from '../../agents/agent-streams.ts';
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

/** How long an agent may take to end the stream towards the client. */
const END_MS = 5000;

export interface StreamDependencies {
  readonly registry: RegistryReader & RegistryStreams;
  readonly lookup: ObjectLookup;
  readonly agents: AgentStreams;
  readonly clock: Clock;
}

/** Serves `exec`, `attach` and `portforward` of pods. Resolves at the end of the connection. */
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
    // Exec and attach use the options that admission has checked.
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
      await pass(exchange, await agents.open(agent, { ...start, target: streams }, exchange.signal), clock);
    } catch (error) {
      if (error instanceof UnreachableError) throw StatusError.unavailable(error.message);
      if (!(error instanceof StreamRefusedError)) throw error;
      // The form of the kubelet's response: kubectl prints the text after `unable to upgrade connection`.
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

/** The requested streams, with the rules of the kubelet. For attach, the container's spec decides about the terminal, not the client. */
export function targetOf(
  subresource: string,
  pod: Pod,
  container: string,
  { stdin = false, stdout = false, stderr: asked = false, tty: wanted = false, command = [] }: AskedStreams,
): MessageInitShape<typeof StreamStartSchema>['target'] {
  if (subresource === 'portforward') return { case: 'ports', value: {} };
  const stderr = asked && !wanted;
  if (!stdin && !stdout && !stderr) {
    throw new StreamRefusedError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  }
  const kind = subresource === 'exec' ? 'exec' : 'attach';
  const tty = kind === 'exec' ? wanted : hasTerminal(pod, container);
  if (tty && stderr) {
    throw new StreamRefusedError(500, 'rpc error: code = InvalidArgument desc = tty and stderr cannot both be true');
  }
  return { case: kind, value: { container, command: [...command], stdin, stdout, stderr, tty } };
}

function hasTerminal({ spec }: Pod, name: string): boolean {
  const { initContainers = [], containers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers].find((one) => one.name === name)?.tty === true;
}

/** Forwards the client's connection to the agent until the stream ends. The agent implements the client's protocol. */
async function pass(exchange: AuthenticatedExchange, opened: OpenStream, clock: Clock): Promise<void> {
  using stream = opened;
  const cut = new AbortController();
  let cancel: CancelTimer = () => undefined;
  const end = (): void => {
    // Disposal makes the agent end the stream towards the client.
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
      onReceived: () => stream.heard(),
      cut: AbortSignal.any([stream.lost, cut.signal]),
    });
  } finally {
    cancel();
  }
}

/** Reads the pod as administrator: the right to open the stream is enough, a right to read the pod is not needed. */
async function readPod(registry: RegistryReader, context: RequestContext, target: Target): Promise<Pod> {
  const own = { ...context, user: { ...context.user, groups: [ADMINISTRATORS] }, audit: NOT_AUDITED };
  const { object } = await registry.get(own, { ...target, subresource: '' }, '');
  return object;
}

/** The name of the requested container. Throws BadRequest with Kubernetes' message when it is ambiguous or not in the pod. */
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
