import type { ClientRequest, IncomingMessage } from 'node:http';

/**
 * Calls `refuse` when the server switches the protocol (101), which the request does not ask for. The connection is closed then. Without a
 * listener, Node.js closes it and the request gets no event: neither a response nor an error, also not when it is aborted.
 */
export function onUnaskedSwitch(request: ClientRequest, refuse: (response: IncomingMessage) => void): void {
  request.on('upgrade', (response, socket) => {
    socket.destroy();
    refuse(response);
  });
}
