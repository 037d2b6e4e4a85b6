import { connect } from 'node:net';
import { defineProbeType, dialError, failure, portNumber, SUCCESS } from './probe-type.ts';

/** Opens a TCP connection: a connection is success. */
export const tcpSocketProbe = defineProbeType('tcpSocket', (action, { container, address }, signal) => {
  const host = action.host ?? address;
  const port = portNumber(action.port, container);
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal });
    socket.on('connect', () => {
      socket.destroy();
      resolve(SUCCESS);
    });
    socket.on('error', (error) =>
      resolve(failure(signal.aborted ? `dial tcp ${host}:${port}: i/o timeout` : dialError(error, host, port))),
    );
  });
});
