import { connect } from 'node:net';
import type { ReadLength } from './queue-autoscaler.ts';

const TIMEOUT_MS = 5000;
/** The reply is a number or a line with an error. */
const MAX_REPLY = 1024;

/** The length of the list `listName` in the Redis at `address`; 0 when there is no such list. */
export const readRedisList: ReadLength = async ({ address, listName }, signal) => {
  const [host = '', port] = address.split(':');
  const stop = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
  const socket = connect({ host, port: Number(port), signal: stop });
  socket.write(`*2\r\n$4\r\nLLEN\r\n$${Buffer.byteLength(listName)}\r\n${listName}\r\n`);
  let reply = '';
  try {
    // Leaving the loop closes the connection.
    for await (const chunk of socket) {
      reply += String(chunk);
      if (reply.includes('\r\n') || reply.length > MAX_REPLY) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    return `${address}: ${stop.aborted ? `no reply in ${TIMEOUT_MS / 1000} s` : (error as Error).message}`;
  }
  const [, length] = /^:([0-9]+)\r\n/.exec(reply) ?? [];
  if (length !== undefined) return Number(length);
  return `${address}: ${reply === '' ? 'closed the connection' : reply.slice(0, 100).trim()}`;
};
