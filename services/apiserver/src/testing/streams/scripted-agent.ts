import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { create } from '@bufbuild/protobuf';
import { untilAborted } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import {
  AgentService,
  type ContainerLogsRequest,
  LogChunkSchema,
  type StreamStart,
  type StreamTicket,
  StreamTicketSchema,
} from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';

/** Records the requests to the agent and their ends. */
export interface AgentNotes {
  readonly starts: StreamStart[];
  /** The forwarded requests of clients. */
  readonly requests: { readonly url: string; readonly headers: IncomingHttpHeaders }[];
  /** Names of the cancelled calls: the container, or `log`. */
  readonly cancelled: string[];
  /** Number of closed client connections. */
  closed: number;
  /** Resolves at the next cancellation. */
  nextCancelled(): Promise<void>;
}

export interface ScriptedAgent {
  readonly service: GrpcService;
  readonly notes: AgentNotes;
  readonly onUpgrade: (request: IncomingMessage, socket: Duplex) => void;
}

/**
 * The agent of a node. The name of the container determines the behaviour of a stream: `gone` rejects the stream, `v9` rejects the
 * protocol, `lost` aborts the call when the stream runs, `mute` before it answers the request. Other streams echo in capitals. When the API
 * server ends them, they send `ended` and close the connection.
 */
export function scriptedAgent(): ScriptedAgent {
  const waiting: (() => void)[] = [];
  const streams = new Map<
    string,
    { readonly container: string; readonly call: GrpcCall; readonly served: () => void }
  >();
  const notes: AgentNotes = {
    starts: [],
    requests: [],
    cancelled: [],
    closed: 0,
    nextCancelled: () => new Promise((resolve) => waiting.push(resolve)),
  };
  const untilCancelled = async (name: string, call: GrpcCall): Promise<void> => {
    await untilAborted(call.signal);
    notes.cancelled.push(name);
    for (const resolve of waiting.splice(0)) resolve();
  };
  async function* openStream(start: StreamStart, call: GrpcCall): AsyncIterable<StreamTicket> {
    notes.starts.push(start);
    const { target } = start;
    const container = target.case === 'ports' || target.case === undefined ? 'ports' : target.value.container;
    if (container === 'gone') throw new StatusError('NotFound', 'container not found ("gone")');
    const ticket = `t${notes.starts.length}`;
    const { promise, resolve: served } = Promise.withResolvers<void>();
    streams.set(ticket, { container, call, served });
    yield create(StreamTicketSchema, { ticket });
    if (container === 'lost' || container === 'mute') {
      await promise;
      throw new StatusError('InternalError', 'the engine is gone');
    }
    await untilCancelled(container, call);
  }
  const onUpgrade = ({ url = '', headers }: IncomingMessage, socket: Duplex): void => {
    notes.requests.push({ url, headers });
    const { container, call, served } = streams.get(/^\/streams\/(\w+)/.exec(url)?.[1] ?? '') ?? {};
    socket.on('error', () => undefined);
    socket.once('close', () => notes.closed++);
    if (container === undefined || container === 'v9') {
      const lines = ['HTTP/1.1 403 Forbidden', 'X-Accepted-Stream-Protocol-Versions: v1', 'Content-Length: 8'];
      socket.end(`${lines.join('\r\n')}\r\n\r\nno v9 :(`);
      return;
    }
    if (container === 'mute') {
      served?.();
      return;
    }
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${headers.upgrade}\r\n\r\n`);
    socket.on('data', (data: Buffer) => {
      socket.write(data.toString().toUpperCase());
      served?.();
    });
    call?.signal.addEventListener('abort', () => socket.end('ended'), { once: true });
  };
  async function* logs({ container, follow }: ContainerLogsRequest, call: GrpcCall) {
    if (container === 'gone') throw StatusError.badRequest('container "gone" has no log');
    yield create(LogChunkSchema, {});
    if (container === 'silent') {
      await untilCancelled('log', call);
      return;
    }
    for (const data of ['one\n', 'two\n']) yield create(LogChunkSchema, { data: Buffer.from(data) });
    if (container === 'breaks') throw new StatusError('InternalError', 'the engine is gone');
    if (follow) await untilCancelled('log', call);
  }
  const service: GrpcService = {
    descriptor: AgentService,
    handlers: {
      openStream: { kind: 'stream', handle: openStream },
      containerLogs: { kind: 'stream', handle: logs },
    },
  };
  return { service, notes, onUpgrade };
}
