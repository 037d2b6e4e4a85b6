import { systemClock } from '@gantry/base';
import type { StreamTarget } from '@gantry/streams/testing';
import { fixedTls } from '@gantry/tls';
import { afterAll, beforeAll, expect } from 'vitest';
import { createAgentStreams } from '../../agents/agent-streams.ts';
import { parseAuditPolicy } from '../../audit/index.ts';
import { createAgentLogs } from '../../endpoints/logs/agent-logs.ts';
import { startAgentServer } from '../agent-server.ts';
import { callServer } from '../call-server.ts';
import { startApiServer, type TestApiServer } from '../start-api-server.ts';
import { type AgentNotes, scriptedAgent } from './scripted-agent.ts';

/** The path of the list of pods. */
export const PODS = '/api/v1/namespaces/default/pods';
export const V4 = 'v4.channel.k8s.io';
/** Headers of an upgrade to SPDY. */
export const SPDY = { upgrade: 'SPDY/3.1', 'x-stream-protocol-version': V4 };
/** Headers of an upgrade to a WebSocket, without a subprotocol. */
export const HANDSHAKE = {
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};
interface AuditedStage {
  readonly stage: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly responseStatus?: { readonly code: number };
}

/** The server as target of requests by the administrator. */
export function targetOf({ restPort: port, pki: { ca }, admin: { cert, key } }: TestApiServer): StreamTarget {
  return { port, ca, cert, key };
}

/** An API server with a scripted agent and with pods on the agent's node. */
export interface StreamServer {
  readonly server: TestApiServer;
  readonly notes: AgentNotes;
  /** The stages of exec that were audited. */
  readonly audited: readonly AuditedStage[];
}

/** The path of an exec in pod `p`. */
export function exec(command: readonly string[], options: string, pod = 'p'): string {
  const words = command.map((word) => `command=${encodeURIComponent(word)}`).join('&');
  return `${PODS}/${pod}/exec?${words}&${options}`;
}

/**
 * A server for all tests of a file. It starts before them and stops after them. It has the pods `p`, `terminal`, `two`, `waiting`
 * (without a node) and `logging` (with running containers).
 */
export function streamServer(): StreamServer {
  let started: Awaited<ReturnType<typeof startStreamServer>>;
  beforeAll(async () => {
    started = await startStreamServer();
  });
  afterAll(() => started[Symbol.asyncDispose]());
  return {
    get server() {
      return started.server;
    },
    get notes() {
      return started.notes;
    },
    get audited() {
      return started.audited;
    },
  };
}

async function startStreamServer(): Promise<StreamServer & AsyncDisposable> {
  const { service, notes, onUpgrade } = scriptedAgent();
  const agent = await startAgentServer(service, onUpgrade);
  const audited: AuditedStage[] = [];
  const rules =
    '[{ level: Metadata, omitStages: [RequestReceived], resources: [{ group: "", resources: [pods/exec] }] }]';
  const policy = parseAuditPolicy(`apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: ${rules}`);
  const server = await startApiServer({
    agentStreams: createAgentStreams(fixedTls(agent.client), systemClock, agent.port),
    agentLogs: createAgentLogs(fixedTls(agent.client), systemClock, agent.port),
    audit: { policy, append: (line) => audited.push(JSON.parse(line) as AuditedStage) },
  });
  await createNode(server);
  await createPods(server);
  return {
    server,
    notes,
    audited,
    [Symbol.asyncDispose]: async () => {
      await server.stop();
      await agent[Symbol.asyncDispose]();
    },
  };
}

async function post(server: TestApiServer, path: string, object: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  expect((await callServer(server, 'POST', path, { body: JSON.stringify(object), headers })).code).toBe(201);
}

async function patchStatus(server: TestApiServer, path: string, status: object): Promise<void> {
  const headers = { 'content-type': 'application/merge-patch+json' };
  const body = JSON.stringify({ status });
  expect((await callServer(server, 'PATCH', `${path}/status`, { body, headers })).code).toBe(200);
}

async function createNode(server: TestApiServer): Promise<void> {
  await post(server, '/api/v1/namespaces/default/serviceaccounts', {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'default' },
  });
  await post(server, '/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } });
  await patchStatus(server, '/api/v1/nodes/node-a', { addresses: [{ type: 'InternalIP', address: '127.0.0.1' }] });
}

async function createPods(server: TestApiServer): Promise<void> {
  const createPod = (name: string, containers: readonly object[], node = {}) =>
    post(server, PODS, { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec: { containers, ...node } });
  const named = (names: readonly string[]) => names.map((name) => ({ name, image: 'i' }));
  const onNode = { nodeName: 'node-a' };
  await createPod('p', named(['c']), onNode);
  await createPod('terminal', [{ name: 'c', image: 'i', tty: true }], onNode);
  await createPod('two', named(['a', 'gone', 'v9', 'lost', 'mute']), onNode);
  await createPod('waiting', named(['c']));
  const logging = ['c', 'gone', 'breaks', 'silent'];
  await createPod('logging', named(logging), onNode);
  const running = { image: 'i', imageID: 'i', ready: true, restartCount: 0, state: { running: {} } };
  await patchStatus(server, `${PODS}/logging`, {
    containerStatuses: logging.map((name) => ({ ...running, name, containerID: `engine://${name}` })),
  });
}
