import { create } from '@bufbuild/protobuf';
import { systemClock } from '@gantry/base';
import { StatusError } from '@gantry/api';
import { toGrpcFailure } from '@gantry/client';
import { AgentService, type ContainerLogsRequest, LogChunkSchema } from '@gantry/proto';
import { fixedTls, type GrpcService, grpcServer, silentLogger } from '@gantry/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPki } from '../testing/test-pki.ts';
import { type AgentLogs, createAgentLogs, type LogRequest } from './agent-logs.ts';

/** An agent that answers "missing" as an error and all else with the request it heard, in two chunks. */
const agent: GrpcService = {
  descriptor: AgentService,
  handlers: {
    containerLogs: {
      kind: 'stream',
      handle: async function* (request: ContainerLogsRequest) {
        if (request.container === 'missing') throw StatusError.badRequest('no such container');
        const { pod, container, tailLines, follow } = request;
        yield create(LogChunkSchema, { data: Buffer.from(`${pod} ${container} `) });
        yield create(LogChunkSchema, { data: Buffer.from(`${String(tailLines)} ${String(follow)}`) });
      },
    },
  },
};

const stopping = new AbortController();
let logs: AgentLogs;
let running: Promise<void>;

beforeAll(async () => {
  const pki = await createTestPki(systemClock.now());
  const listening = Promise.withResolvers<number>();
  const server = grpcServer({
    tls: fixedTls(await pki.issue('system:node:node-a', ['system:nodes'], ['node-a'])),
    address: '127.0.0.1:0',
    services: [agent],
    logger: silentLogger,
    toGrpcError: toGrpcFailure,
    onListening: listening.resolve,
  });
  running = server.run(stopping.signal).then(() => server.close?.());
  const client = await pki.issue('system:apiserver', ['gantry:apiservers']);
  logs = createAgentLogs(fixedTls(client), systemClock, await listening.promise);
});

afterAll(async () => {
  stopping.abort();
  await running;
});

async function read(container: string, node = 'node-a'): Promise<string> {
  const request: LogRequest = {
    namespace: 'default',
    pod: 'web',
    podUid: 'u',
    container,
    follow: true,
    previous: false,
    timestamps: false,
    tailLines: 5n,
  };
  const parts: Uint8Array[] = [];
  const never = new AbortController().signal;
  for await (const part of logs.read({ node, host: '127.0.0.1' }, request, never)) parts.push(part);
  return Buffer.concat(parts).toString();
}

describe('agent logs', () => {
  it('come over mutual TLS as the agent sends them', async () => {
    expect(await read('c')).toBe('web c 5 true');
  });

  it("fail with the agent's own Status", async () => {
    await expect(read('missing')).rejects.toMatchObject({ reason: 'BadRequest', message: 'no such container' });
  });
});
