import { Agent, type AgentOptions } from 'node:https';

/** Less than servers keep an idle connection: ours and most of Go's for 90 seconds, nginx for 75. */
const IDLE_MS = 45_000;

/**
 * An agent that keeps connections for further requests, each for at most `idleMs` of idleness, or one second less than the server
 * announces (`Keep-Alive: timeout`). A connection that the server closes first may be one on which a request has just been sent:
 * whether the server acted on that request is then unknown. Without a timeout, Node's agent ignores the announcement, too.
 * A request under way is never ended by it.
 */
export function createHttpsAgent(options: AgentOptions, idleMs = IDLE_MS): Agent {
  return new Agent({ ...options, keepAlive: true, timeout: idleMs });
}
