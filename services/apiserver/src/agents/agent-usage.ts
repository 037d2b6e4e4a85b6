import { create } from '@bufbuild/protobuf';
import { type Clock, type Instant, raceAbort, withDeadline } from '@gantry/base';
import { type NodeUsageReply, type NodeUsageRequest, NodeUsageRequestSchema } from '@gantry/proto';
import type { TlsSource } from '@gantry/tls';
import { type CallOptions, type Client, Metadata, type ServiceError } from '@grpc/grpc-js';
import { AGENT_PORT, type AgentAddress, openAgent } from './agent-connection.ts';
import type { NodeUsage, UsageSource } from './usage-source.ts';
import { readNodeUsage } from './usage-reply.ts';

/** A reply is reused for this time. Agents measure every 10 s. */
const FRESH_MS = 5000;
/** An agent that has not responded is skipped for this time, since it would delay every request. */
const SHUNNED_MS = 3000;
/** Timeout of the call to one agent, including the connection. */
const CALL_MS = 2000;
/** Timeout of a read of all agents. */
const WHOLE_MS = 4000;
/** Maximum number of concurrent calls of a read. */
const PARALLEL = 64;
/** A connection that is idle for this time is closed. */
const IDLE_MS = 120_000;
/** Maximum size of a reply. 110 pods need about one percent of it. */
const MAX_REPLY_BYTES = 2 ** 20;

type UsageClient = Client & {
  nodeUsage(
    request: NodeUsageRequest,
    metadata: Metadata,
    options: CallOptions,
    callback: (error: ServiceError | null, reply?: NodeUsageReply) => void,
  ): void;
};

/** Connection and last reply of one agent. */
interface Known {
  readonly host: string;
  readonly client: UsageClient;
  usedAt: Instant;
  reply?: { readonly at: Instant; readonly usage: NodeUsage };
  failedAt?: Instant;
  asking?: Promise<NodeUsage | undefined>;
}

/** A usage source that must be disposed, which closes its connections. */
export interface AgentUsage extends UsageSource, Disposable {}

/** Reads usage from agents over gRPC. Concurrent reads share one call per agent. Connections are kept while they are used. */
export function createAgentUsage(tls: TlsSource, clock: Clock, port: number = AGENT_PORT): AgentUsage {
  const agents = new Map<string, Known>();
  const forget = (node: string): void => {
    agents.get(node)?.client.close();
    agents.delete(node);
  };
  const forgetAll = (): void => {
    for (const node of [...agents.keys()]) forget(node);
  };
  // Connections with the old certificate are closed.
  const unsubscribe = tls.subscribe(forgetAll);
  const knownOf = (address: AgentAddress): Known => {
    const found = agents.get(address.node);
    if (found?.host === address.host && !isAskedAgain(found, clock)) return found;
    // After a failure, a new connection: the former one may wait for a minute before it sends its next packet.
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
        // Agents that have not responded in time are left out. Their late replies serve the next read.
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

/** Whether an agent that has failed is to be asked again. */
function isAskedAgain({ failedAt, asking }: Known, clock: Clock): boolean {
  return failedAt !== undefined && asking === undefined && clock.now() - failedAt >= SHUNNED_MS;
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

/** Calls one agent. Returns undefined when the call fails. */
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
