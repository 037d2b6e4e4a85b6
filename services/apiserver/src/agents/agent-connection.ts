import { serviceDefinition, AgentService } from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import { type Client, type ClientOptions, credentials, makeGenericClientConstructor } from '@grpc/grpc-js';
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

/** A gRPC client of an agent over mutual TLS. The agent's certificate must have the name of its node. It connects at its first use. */
export function openAgent(
  tls: TlsSource,
  { node, host }: AgentAddress,
  options: { readonly port: number; readonly maxMessageBytes: number; readonly channel?: ClientOptions },
): Client {
  const { ca, key, cert } = tls.current();
  const address = host.includes(':') ? `[${host}]:${options.port}` : `${host}:${options.port}`;
  return new Constructor(address, credentials.createSsl(ca, key, cert), {
    'grpc.ssl_target_name_override': node,
    'grpc.default_authority': node,
    'grpc.max_receive_message_length': options.maxMessageBytes,
    'grpc.enable_retries': 0,
    ...options.channel,
  });
}

/** Interval of pings on an idle connection, and the timeout of their responses. */
export interface Keepalive {
  readonly everyMs: number;
  readonly patienceMs: number;
}

/** The options of a channel that finds a frozen or unreachable agent. */
export function keepaliveOptions({ everyMs, patienceMs }: Keepalive): ClientOptions {
  return { 'grpc.keepalive_time_ms': everyMs, 'grpc.keepalive_timeout_ms': patienceMs };
}

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
