import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import packet, { type Answer, type Question } from 'dns-packet';

/** Returns a resolver's answer, or undefined for no answer. */
export type Answering = (
  question: Question,
  transport: 'udp' | 'tcp',
) =>
  | {
      readonly answers?: Answer[];
      readonly authorities?: Answer[];
      readonly flags?: number;
      readonly id?: number;
      readonly questions?: Question[];
    }
  | undefined;

/** A host's resolver on the loopback interface. */
export interface UpstreamServer extends AsyncDisposable {
  readonly upstream: { readonly address: string; readonly port: number };
  /** The names in the questions that it got. */
  readonly asked: string[];
}

export async function startUpstream(answering: Answering): Promise<UpstreamServer> {
  const asked: string[] = [];
  const answer = (bytes: Buffer, transport: 'udp' | 'tcp'): Buffer | undefined => {
    const query = packet.decode(bytes);
    const [question] = query.questions ?? [];
    if (question === undefined) return undefined;
    asked.push(`${transport} ${question.name}`);
    const answered = answering(question, transport);
    if (answered === undefined) return undefined;
    return packet.encode({ type: 'response', id: query.id ?? 0, questions: [question], ...answered });
  };
  const socket = createSocket('udp4');
  socket.on('message', (bytes, { address, port }) => {
    const response = answer(bytes, 'udp');
    if (response !== undefined) socket.send(response, port, address);
  });
  const server = createServer((connection) => {
    connection.on('data', (bytes) => {
      const response = answer(bytes.subarray(2), 'tcp');
      if (response === undefined) return;
      const length = Buffer.alloc(2);
      length.writeUInt16BE(response.length);
      connection.write(Buffer.concat([length, response]));
    });
  });
  const port = await listenOnBoth(socket, server);
  return {
    upstream: { address: '127.0.0.1', port },
    asked,
    [Symbol.asyncDispose]: async () => {
      socket.close();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Listens at one port for UDP and TCP. The kernel chooses a port that is free for TCP, but it may be in use for UDP. */
async function listenOnBoth(socket: Socket, server: Server): Promise<number> {
  for (;;) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    try {
      socket.bind(port, '127.0.0.1');
      await once(socket, 'listening');
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      server.close();
      await once(server, 'close');
    }
  }
}
