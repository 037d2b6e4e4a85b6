import { serviceDefinition, AgentService } from '@gantry/proto';
import { type LiveChannel, liveChannel, type Liveness, type TlsSource } from '@gantry/tls';
import {
  type ChannelCredentials,
  type Client,
  type ClientOptions,
  credentials,
  makeGenericClientConstructor,
} from '@grpc/grpc-js';
import type { Clock } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import type { Backend } from '../http/backend.ts';

/** The address of an agent. */
export interface AgentAddress {
  readonly node: string;
  readonly host: string;
}

/** The port of the kubelet. */
export const AGENT_PORT = 10250;

/** The methods of the agent's service, by name in camel case. */
const AGENT_METHODS = serviceDefinition(AgentService);

const Constructor = makeGenericClientConstructor(AGENT_METHODS, 'AgentService');

export interface AgentClientOptions {
  readonly port: number;
  readonly maxMessageBytes: number;
}

/** A gRPC client of an agent over mutual TLS. The agent's certificate must have the name of its node. It connects at its first use. */
export function openAgent(tls: TlsSource, address: AgentAddress, options: AgentClientOptions): Client {
  return open(address, options, credentialsOf(tls), {});
}

/** The same for streams: a frozen or unreachable agent is found while a call is open. */
export function openLiveAgent(
  tls: TlsSource,
  address: AgentAddress,
  options: AgentClientOptions & { readonly liveness: Liveness; readonly clock: Clock },
): { readonly client: Client; readonly live: LiveChannel } {
  const live = liveChannel(credentialsOf(tls), options.liveness, options.clock);
  return { client: open(address, options, live.credentials, live.options), live };
}

function credentialsOf(tls: TlsSource): ChannelCredentials {
  const { ca, key, cert } = tls.current();
  return credentials.createSsl(ca, key, cert);
}

function open(
  { node, host }: AgentAddress,
  { port, maxMessageBytes }: AgentClientOptions,
  credentialsOfClient: ChannelCredentials,
  channel: ClientOptions,
): Client {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Constructor(address, credentialsOfClient, {
    'grpc.ssl_target_name_override': node,
    'grpc.default_authority': node,
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.enable_retries': 0,
    ...channel,
  });
}

/** Without pings, streams of a frozen or unreachable agent would last forever. */
export const STREAM_LIVENESS: Liveness = { pingMs: 10_000, silenceMs: 15_000 };

/** The HTTPS endpoints of an agent, over mutual TLS. */
export function agentBackend(tls: TlsSource, { node, host }: AgentAddress, port: number): Backend {
  const { ca, key, cert } = tls.current();
  return { scheme: 'https', host, port, tls: { ca, key, cert, servername: node, ALPNProtocols: ['http/1.1'] } };
}

/** Resolves when the agent is connected. Rejects with ServiceUnavailable at the deadline, which is in Unix milliseconds. */
export function agentConnected(client: Client, node: string, deadline: number): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(deadline, (error) => {
      if (error === undefined) resolve();
      else reject(StatusError.unavailable(`the agent of node ${JSON.stringify(node)} cannot be reached`));
    });
  });
}
