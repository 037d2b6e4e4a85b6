import { connect } from 'node:net';
import { probeLookup } from './probe-host.ts';
import { defineProbeType, dialError, failure, portNumber, SUCCESS } from './probe-type.ts';

/** Opens a TCP connection: a connection is success. */
export const tcpSocketProbe = defineProbeType('tcpSocket', (action, { container, ...target }, signal) => {
  const host = action.host || target.address;
  const guard = host === target.address ? undefined : probeLookup(target);
  guard?.check(host);
  const port = portNumber(action.port, container);
  return new Promise((resolve) => {
    const socket = connect({ host, port, signal, ...(guard === undefined ? {} : { lookup: guard.lookup }) });
    socket.on('connect', () => {
      socket.destroy();
      resolve(SUCCESS);
    });
    socket.on('error', (error) =>
      resolve(failure(signal.aborted ? `dial tcp ${host}:${port}: i/o timeout` : dialError(error, host, port))),
    );
  });
});
