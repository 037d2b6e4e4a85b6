import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import type { Connection } from '@gantry/service';

const connections = new WeakMap<object, Connection>();

/** Records the connection behind a socket (HTTP/1.1) or a session (HTTP/2). */
export function recordConnection(transport: object, connection: Connection): void {
  connections.set(transport, connection);
}

/** The connection behind a socket or a session; undefined when the server does not count it. */
export function connectionOf(transport: object): Connection | undefined {
  return connections.get(transport);
}

/** The transport of a request: the session (HTTP/2) or the socket (HTTP/1.1). */
export function transportOf(req: IncomingMessage): object {
  return http2StreamOf(req)?.session ?? req.socket;
}

/** The HTTP/2 stream of a request or response; undefined over HTTP/1.1. */
export function http2StreamOf(message: IncomingMessage | ServerResponse): ServerHttp2Stream | undefined {
  return 'stream' in message ? (message.stream as ServerHttp2Stream) : undefined;
}
