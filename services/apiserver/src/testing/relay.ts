import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A relay to a server of 127.0.0.1. */
export interface Relay {
  readonly port: number;
  /** Stops forwarding; the connections stay open. */
  freeze(): void;
  close(): void;
}

/** A relay that forwards bytes to `port` and back until it is frozen. */
export async function startRelay(port: number): Promise<Relay> {
  const sockets: Socket[] = [];
  const server = createServer((near) => {
    const far = connect(port, '127.0.0.1');
    for (const socket of [near, far]) {
      socket.on('error', () => socket.destroy());
      sockets.push(socket);
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    freeze: () => {
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
