import { create } from '@bufbuild/protobuf';
import { type Clock, type Instant, raceAbort, withDeadline } from '@gantry/base';
import { type NodeUsageReply, type NodeUsageRequest, NodeUsageRequestSchema } from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import { type CallOptions, type Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import { AGENT_PORT, type AgentAddress, openAgent } from './agent-connection.ts';
import type { NodeUsage, UsageSource } from './usage-source.ts';
import { readNodeUsage } from './usage-reply.ts';

/** Agents measure every 10 s: a reply is good for a while. */
const FRESH_MS = 5000;
/** An agent that has not responded is not asked again for this long: it would hold up every request. */
const SHUNNED_MS = 10_000;
/** For one agent, connecting included. */
const CALL_MS = 2000;
/** For all agents together. */
const WHOLE_MS = 4000;
/** How many agents are asked at once. */
const PARALLEL = 64;
/** A connection that is not used for this long is closed. */
const IDLE_MS = 120_000;
/** Of a reply; 110 pods take a hundredth of it. */
const MAX_REPLY_BYTES = 2 ** 20;

type UsageClient = Client & {
  nodeUsage(
    request: NodeUsageRequest,
    metadata: Metadata,
    options: CallOptions,
    callback: (error: ServiceError | null, reply?: NodeUsageReply) => void,
  ): void;
};

/** What is known of one agent. */
interface Known {
  readonly host: string;
  readonly client: UsageClient;
  usedAt: Instant;
  reply?: { readonly at: Instant; readonly usage: NodeUsage };
  failedAt?: Instant;
  asking?: Promise<NodeUsage | undefined>;
}

/** A source of usage whose connections must be closed. */
export interface AgentUsage extends UsageSource, Disposable {}

/** Asks agents over gRPC. Requests that come together share a call, and connections are kept while they are used. */
export function createAgentUsage(tls: TlsSource, clock: Clock, port: number = AGENT_PORT): AgentUsage {
  const agents = new Map<string, Known>();
  const forget = (node: string): void => {
    agents.get(node)?.client.close();
    agents.delete(node);
  };
  const forgetAll = (): void => {
    for (const node of [...agents.keys()]) forget(node);
  };
  // Connections that were opened under the old certificate are not used again.
  const unsubscribe = tls.subscribe(forgetAll);
  const knownOf = (address: AgentAddress): Known => {
    const found = agents.get(address.node);
    if (found?.host === address.host) return found;
    forget(address.node);
    const client = openAgent(tls, address, { port, maxMessageBytes: MAX_REPLY_BYTES }) as UsageClient;
    const made: Known = { host: address.host, client, usedAt: clock.now() };
    agents.set(address.node, made);
    return made;
  };
  const closeIdle = (): void => {
    for (const [node, { usedAt }] of agents) if (clock.now() - usedAt > IDLE_MS) forget(node);
  };
  return {
    read: async (addresses, signal) => {
      closeIdle();
      const found = new Map<string, NodeUsage>();
      const waiting = [...addresses];
      const work = async (): Promise<void> => {
        for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
          const usage = await usageOf(knownOf(next), clock);
          if (usage !== undefined) found.set(next.node, usage);
        }
      };
      using deadline = withDeadline(clock, signal, WHOLE_MS);
      const workers = Array.from({ length: Math.min(PARALLEL, addresses.length) }, work);
      try {
        await raceAbort(Promise.all(workers), deadline);
      } catch (error) {
        signal.throwIfAborted();
        if (!deadline.aborted) throw error;
        // Those that have not responded by now are left out; their replies serve the next request.
        waiting.length = 0;
      }
      return new Map(found);
    },
    [Symbol.dispose]: () => {
      unsubscribe();
      forgetAll();
    },
  };
}

async function usageOf(known: Known, clock: Clock): Promise<NodeUsage | undefined> {
  const now = clock.now();
  known.usedAt = now;
  if (known.reply !== undefined && now - known.reply.at < FRESH_MS) return known.reply.usage;
  if (known.failedAt !== undefined && now - known.failedAt < SHUNNED_MS) return undefined;
  known.asking ??= ask(known, clock).finally(() => {
    delete known.asking;
  });
  return await known.asking;
}

/** Undefined when the agent does not respond, or not as an agent does. */
async function ask(known: Known, clock: Clock): Promise<NodeUsage | undefined> {
  const reply = await call(known.client, clock.now() + CALL_MS);
  if (reply === undefined) {
    known.failedAt = clock.now();
    return undefined;
  }
  delete known.failedAt;
  const usage = readNodeUsage(reply, clock.now());
  known.reply = { at: clock.now(), usage };
  return usage;
}

function call(client: UsageClient, deadline: Instant): Promise<NodeUsageReply | undefined> {
  return new Promise((resolve) => {
    client.nodeUsage(create(NodeUsageRequestSchema), new Metadata(), { deadline }, (_error, reply) => resolve(reply));
  });
}
