import { anySignal, type Clock } from '@gantry/base';
import { type KubeObject, type Node, type Pod, StatusError } from '@gantry/objects';
import type { ObjectLookup } from '../../auth/authz/object-lookup.ts';
import { type RegistryReader, requestContext } from '../../registry/index.ts';
import type { Authorizer } from '../../auth/authz/authorizer.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { AuthenticatedExchange } from '../authenticated-exchange.ts';
import type { ResourceRoute } from '../request-info.ts';
import { sendText, setCommonHeaders } from '../../http/respond.ts';
import { waitForDrain } from '../../http/send-pieces.ts';
import {
  type ByteChoice,
  type ByteMessages,
  chooseForBytes,
  HandshakeError,
  NegotiationError,
  openByteMessages,
  type Upgrade,
  upgradeOf,
} from '@gantry/streams';
import type { AgentLogs } from './agent-logs.ts';
import { checkHasLog, logRequest, parseLogOptions, selectContainer } from './log-options.ts';

export interface LogHandlerDependencies {
  readonly registry: RegistryReader;
  readonly authorizer: Authorizer;
  readonly lookup: ObjectLookup;
  readonly agents: AgentLogs;
  readonly clock: Clock;
}

/** Serves `GET pods/<name>/log`. */
export type LogHandler = (exchange: AuthenticatedExchange, route: ResourceRoute) => Promise<void>;

export function createLogHandler(dependencies: LogHandlerDependencies): LogHandler {
  const { registry, authorizer, lookup, agents, clock } = dependencies;
  return async (exchange, route) => {
    const { definition, namespace, name } = route;
    const target = { definition, namespace, name, subresource: 'log' };
    authorizer.authorize(exchange, 'get', target, undefined);
    const context = requestContext(exchange);
    const found = await registry.get(context, { ...target, subresource: '' }, '');
    const pod = found.object as Pod;
    const options = parseLogOptions(exchange.query, name);
    const container = selectContainer(pod, options.container);
    const node = pod.spec?.nodeName ?? '';
    if (node === '') {
      await sendText(exchange, 200, '');
      return;
    }
    checkHasLog(pod, container, options.previous ? 'previous' : 'current');
    const address = { node, host: addressOf(lookup.get('nodes', '', node), node) };
    const request = logRequest(pod, container, options, clock.now());
    const upgrade = upgradeOf(exchange.req);
    if (upgrade === undefined) await pipe(exchange, agents.read(address, request, exchange.signal), clock);
    else await sendMessages(exchange, upgrade, (signal) => agents.read(address, request, signal), clock);
  };
}

function addressOf(found: KubeObject | undefined, name: string): string {
  const node: Partial<Node> | undefined = found;
  const addresses = node?.status?.addresses ?? [];
  const internal = addresses.find((address) => address.type === 'InternalIP');
  if (internal === undefined) throw StatusError.unavailable(`node ${JSON.stringify(name)} has no InternalIP`);
  return internal.address;
}

/**
 * Sends a log as text. The headers are sent with the first chunk, so that an error of the agent before it can still be a Status. A later
 * failure ends the text, as in Kubernetes.
 */
async function pipe(exchange: Exchange, chunks: AsyncIterable<Uint8Array>, clock: Clock): Promise<void> {
  const { res, signal } = exchange;
  const begin = (): void => {
    if (res.headersSent) return;
    res.statusCode = 200;
    res.setHeader('content-type', 'text/plain');
    setCommonHeaders(exchange);
    res.flushHeaders();
  };
  try {
    for await (const chunk of chunks) {
      begin();
      if (signal.aborted || res.destroyed) break;
      if (chunk.length > 0 && !res.write(chunk)) await waitForDrain(exchange, clock, Infinity);
    }
  } catch (error) {
    if (!res.headersSent && !signal.aborted) throw error;
  }
  begin();
  res.end();
}

/** Sends a log as WebSocket messages, for a client that requests it. The handshake replaces the headers. */
async function sendMessages(
  exchange: AuthenticatedExchange,
  upgrade: Upgrade,
  read: (signal: AbortSignal) => AsyncIterable<Uint8Array>,
  clock: Clock,
): Promise<void> {
  let choice: ByteChoice | undefined;
  try {
    choice = chooseForBytes(exchange.req);
  } catch (error) {
    if (!(error instanceof NegotiationError)) throw error;
    await sendText(exchange, error.code, error.message);
    return;
  }
  if (choice === undefined) {
    await pipe(exchange, read(exchange.signal), clock);
    return;
  }
  const chosen = choice;
  const left = new AbortController();
  using signal = anySignal(exchange.signal, left.signal);
  let messages: ByteMessages | undefined;
  let content: 'complete' | 'incomplete' = 'complete';
  const begin = (): ByteMessages => {
    const opened = openMessages(exchange, upgrade, chosen);
    opened.ended.addEventListener('abort', () => left.abort(), { once: true });
    return opened;
  };
  try {
    for await (const chunk of read(signal)) {
      messages ??= begin();
      if (signal.aborted) break;
      if (chunk.length > 0) await messages.send(chunk);
    }
  } catch (error) {
    if (messages === undefined && !signal.aborted) throw error;
    // After the handshake, only the close code can report the failure.
    content = 'incomplete';
  }
  if (messages === undefined && upgrade.socket.destroyed) return;
  messages ??= begin();
  messages.close(content);
}

function openMessages(exchange: AuthenticatedExchange, upgrade: Upgrade, choice: ByteChoice): ByteMessages {
  try {
    const messages = openByteMessages(exchange, upgrade, choice);
    exchange.audit.started(101);
    return messages;
  } catch (error) {
    throw error instanceof HandshakeError ? StatusError.badRequest(error.message) : error;
  }
}
