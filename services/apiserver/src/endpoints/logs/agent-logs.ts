import { type Clock, onAbort } from '@gantry/base';
import { create, type Message } from '@bufbuild/protobuf';
import { type ContainerLogsRequest, ContainerLogsRequestSchema, type LogChunk } from '@gantry/proto';
import type { Liveness, TlsSource } from '@gantry/tls';
import { type Client, type ClientReadableStream, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { type Status, StatusError } from '@gantry/objects';
import {
  AGENT_PORT,
  type AgentAddress,
  agentConnected,
  openLiveAgent,
  STREAM_LIVENESS,
} from '../../agents/agent-connection.ts';

/** Reads logs from agents. */
export interface AgentLogs {
  /**
   * Streams the bytes of a log with back-pressure. Sends at most the limit of the request. Without `follow`, sends at most 64 MiB. Fails
   * with StatusError only. `signal` cancels it.
   */
  read(agent: AgentAddress, request: LogRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

/** ContainerLogsRequest without the fields of the generated type. */
export type LogRequest = Omit<ContainerLogsRequest, keyof Message | '$typeName' | '$unknown'>;

const CONNECT_MS = 5000;
/** Maximum size of a message. Agents send much smaller ones. */
const MAX_MESSAGE_BYTES = 2 ** 20;
/** More than an engine keeps of one container's log, which is five files of 10 MB. A followed log has no limit. */
const MAX_LOG_BYTES = 64 * 2 ** 20;

type StreamClient = Client & {
  containerLogs(request: ContainerLogsRequest, metadata: Metadata): ClientReadableStream<LogChunk>;
};

/** Reads logs over gRPC with mutual TLS. The certificate of an agent must have the name of its node. */
export function createAgentLogs(
  tls: TlsSource,
  clock: Clock,
  port: number = AGENT_PORT,
  liveness: Liveness = STREAM_LIVENESS,
): AgentLogs {
  return {
    read: async function* (agent, request, signal) {
      const options = { port, maxMessageBytes: MAX_MESSAGE_BYTES, liveness, clock };
      const client = openLiveAgent(tls, agent, options).client as StreamClient;
      try {
        await agentConnected(client, agent.node, clock.now() + CONNECT_MS);
        const call = client.containerLogs(create(ContainerLogsRequestSchema, request), new Metadata());
        // After the loop below, an 'error' event of the cancellation without a listener would end the process.
        call.on('error', () => undefined);
        // The signal may have been aborted while the connection was opened.
        using _ = onAbort(signal, () => call.cancel());
        try {
          // The agent is not trusted to respect the limit.
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
