import { type Clock, onAbort } from '@gantry/base';
import { create, type Message } from '@bufbuild/protobuf';
import { type ContainerLogsRequest, ContainerLogsRequestSchema, type LogChunk } from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type Status, StatusError } from '@gantry/objects';
import { AGENT_PORT, type AgentAddress, agentConnected, openAgent } from '../../agents/agent-connection.ts';

/** Reads logs from agents. */
export interface AgentLogs {
  /**
   * Bytes as they come and are consumed, never more than the request's limit, and of a log that is not followed never more than 64
   * MiB; fails with StatusError only. Cancelled by `signal`.
   */
  read(agent: AgentAddress, request: LogRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** How often a silent connection is tried, and how long the answer may take. */
interface Keepalive {
  readonly everyMs: number;
  readonly patienceMs: number;
}

/** ContainerLogsRequest without its generated parts. */
export type LogRequest = Omit<ContainerLogsRequest, keyof Message | '$typeName' | '$unknown'>;

const CONNECT_MS = 5000;
/** Of one message; agents send far smaller ones. */
const MAX_MESSAGE_BYTES = 2 ** 20;
/** More than an engine keeps of one container's log: five files of 10 MB. A log that is followed has no end. */
const MAX_LOG_BYTES = 64 * 2 ** 20;
/** A frozen or unreachable agent sends nothing; a client that follows a log would wait forever. */
const KEEPALIVE: Keepalive = { everyMs: 10_000, patienceMs: 5000 };

type StreamClient = Client & {
  containerLogs(request: ContainerLogsRequest, metadata: Metadata): ClientReadableStream<LogChunk>;
};

/** Reads logs over gRPC with mutual TLS; an agent's certificate must be made out to its node's name. */
export function createAgentLogs(
  tls: TlsSource,
  clock: Clock,
  port: number = AGENT_PORT,
  keepalive: Keepalive = KEEPALIVE,
): AgentLogs {
  return {
    read: async function* (agent, request, signal) {
      const channel = {
        'grpc.keepalive_time_ms': keepalive.everyMs,
        'grpc.keepalive_timeout_ms': keepalive.patienceMs,
      };
      const client = openAgent(tls, agent, { port, maxMessageBytes: MAX_MESSAGE_BYTES, channel }) as StreamClient;
      try {
        await agentConnected(client, agent.node, clock.now() + CONNECT_MS);
        const call = client.containerLogs(create(ContainerLogsRequestSchema, request), new Metadata());
        // After the loop below, an 'error' without a listener (from our cancellation) would end the process.
        call.on('error', () => undefined);
        // The caller may have left while the agent was being reached.
        using _ = onAbort(signal, () => call.cancel());
        try {
          // An agent is not trusted to keep to a limit.
          let left = limitOf(request);
          for await (const { data } of call as AsyncIterable<LogChunk>) {
            yield data.length > left ? data.subarray(0, left) : data;
            left -= data.length;
            if (left <= 0) return;
          }
        } finally {
          call.cancel();
        }
      } catch (error) {
        throw toStatusError(error, agent.node);
      } finally {
        client.close();
      }
    },
  };
}

function limitOf({ limitBytes, follow }: LogRequest): number {
  const most = follow ? Number.POSITIVE_INFINITY : MAX_LOG_BYTES;
  return limitBytes === undefined ? most : Math.min(Number(limitBytes), most);
}

function toStatusError(error: unknown, node: string): StatusError {
  if (error instanceof StatusError) return error;
  const failure = error as Partial<ServiceError>;
  const carried = failure.metadata?.get('gantry-status-bin')[0];
  if (Buffer.isBuffer(carried)) return StatusError.fromStatus(JSON.parse(carried.toString('utf8')) as Status);
  const details = failure.details ?? String(error);
  switch (failure.code) {
    case status.NOT_FOUND:
    case status.INVALID_ARGUMENT:
    case status.FAILED_PRECONDITION:
      return StatusError.badRequest(details);
    case status.CANCELLED:
      return StatusError.timeout('the request was cancelled');
    default:
      return StatusError.unavailable(`the agent of node ${JSON.stringify(node)} failed: ${details}`);
  }
}
