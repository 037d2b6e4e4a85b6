import { create } from '@bufbuild/protobuf';
import { systemClock, untilAborted } from '@gantry/base';
import { StatusError } from '@gantry/objects';
import { AgentService, type ContainerLogsRequest, LogChunkSchema } from '@gantry/proto';
import type { GrpcCall, GrpcService } from '@gantry/service';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentServer, startAgentServer } from '../../testing/agent-server.ts';
import { type Relay, startRelay } from '../../testing/relay.ts';
import { type AgentLogs, createAgentLogs, type LogRequest } from './agent-logs.ts';

/** Resolves when the call of an "endless" log was cancelled at the agent. */
let endlessEnded = Promise.withResolvers<void>();

const FLOOD = Buffer.alloc(2 ** 19);

/**
 * An agent whose response depends on the container. "missing" is an error, "flood" sends chunks without an end, "giant" sends one large
 * message, "endless" starts and never ends. Others respond with the received request in two chunks.
 */
const agent: GrpcService = {
  descriptor: AgentService,
  handlers: {
    containerLogs: {
      kind: 'stream',
      handle: async function* (request: ContainerLogsRequest, call: GrpcCall) {
        if (request.container === 'flood') {
          while (!call.signal.aborted) yield create(LogChunkSchema, { data: FLOOD });
          return;
        }
        if (request.container === 'giant') yield create(LogChunkSchema, { data: Buffer.alloc(2 ** 20 + 1) });
        if (request.container === 'missing') throw StatusError.badRequest('no such container');
        const { pod, container, tailLines, follow } = request;
        yield create(LogChunkSchema, { data: Buffer.from(`${pod} ${container} `) });
        if (container === 'endless') {
          await untilAborted(call.signal);
          endlessEnded.resolve();
          return;
        }
        yield create(LogChunkSchema, { data: Buffer.from(`${String(tailLines)} ${String(follow)}`) });
      },
    },
  },
};

let logs: AgentLogs;
let throughRelay: AgentLogs;
let relay: Relay;
let server: AgentServer;

beforeAll(async () => {
  server = await startAgentServer(agent);
  const { client, port } = server;
  logs = createAgentLogs(fixedTls(client), systemClock, port);
  relay = await startRelay(port);
  throughRelay = createAgentLogs(fixedTls(client), systemClock, relay.port, { pingMs: 50, silenceMs: 2000 });
});

afterAll(async () => {
  relay.close();
  await server[Symbol.asyncDispose]();
});

function requestFor(container: string): LogRequest {
  return {
    namespace: 'default',
    pod: 'web',
    podUid: 'u',
    container,
    follow: true,
    previousId: '',
    timestamps: false,
    tailLines: 5n,
  };
}

async function read(container: string, node = 'node-a'): Promise<string> {
  const request = requestFor(container);
  const parts: Uint8Array[] = [];
  const never = new AbortController().signal;
  for await (const part of logs.read({ node, host: '127.0.0.1' }, request, never)) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('agent logs', () => {
  it('come over mutual TLS as the agent sends them', async () => {
    expect(await read('c')).toBe('web c 5 true');
  });

  const sizeOf = async (change: Partial<LogRequest>) => {
    const request = { ...requestFor('flood'), ...change };
    let size = 0;
    for await (const part of logs.read({ node: 'node-a', host: '127.0.0.1' }, request, new AbortController().signal)) {
      size += part.length;
    }
    return size;
  };

  it('end at their limit, whatever the agent sends', async () => {
    expect(await sizeOf({ limitBytes: 1_000_000n })).toBe(1_000_000);
    expect(await sizeOf({ limitBytes: 1_000_000n, follow: false })).toBe(1_000_000);
  });

  it('that are not followed end where an engine keeps no more', async () => {
    expect(await sizeOf({ follow: false })).toBe(64 * 2 ** 20);
  });

  it('fail for a message that is larger than agents send', async () => {
    await expect(read('giant')).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  });

  it('end when the agent answers no more', async () => {
    const never = new AbortController().signal;
    const chunks = throughRelay.read({ node: 'node-a', host: '127.0.0.1' }, requestFor('endless'), never);
    const iterator = chunks[Symbol.asyncIterator]();
    expect((await iterator.next()).done).toBe(false);
    relay.freeze();
    await expect(iterator.next()).rejects.toMatchObject({ reason: 'ServiceUnavailable' });
  });

  it('end at the agent when the reader leaves in the middle', async () => {
    endlessEnded = Promise.withResolvers();
    const never = new AbortController().signal;
    for await (const part of logs.read({ node: 'node-a', host: '127.0.0.1' }, requestFor('endless'), never)) {
      expect(Buffer.from(part).toString()).toBe('web endless ');
      break;
    }
    await endlessEnded.promise;
  });

  it('are not read for one who left while the agent was being reached', async () => {
    const abort = new AbortController();
    const chunks = logs.read({ node: 'node-a', host: '127.0.0.1' }, requestFor('endless'), abort.signal);
    const first = chunks[Symbol.asyncIterator]().next();
    abort.abort();
    await expect(first).rejects.toMatchObject({ reason: 'Timeout' });
  });

  it("fail with the agent's own Status", async () => {
    await expect(read('missing')).rejects.toMatchObject({ reason: 'BadRequest', message: 'no such container' });
  });
});
