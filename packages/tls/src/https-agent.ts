import { Agent, type AgentOptions } from 'node:https';

/** Less than the idle timeout of servers: 90 seconds for ours and most Go servers, 75 for nginx. */
const IDLE_MS = 45_000;

/**
 * Creates an agent that keeps connections for later requests. A connection is closed after `idleMs` without a request, or one second before
 * the timeout that the server announces (`Keep-Alive: timeout`). If the server closed it first, a request could just have been sent on it,
 * and its outcome would be unknown. Node's agent ignores the announcement unless it has a timeout itself. The timeout never ends a running
 * request.
 */
export function createHttpsAgent(options: AgentOptions, idleMs = IDLE_MS): Agent {
  return new Agent({ ...options, keepAlive: true, timeout: idleMs });
}
