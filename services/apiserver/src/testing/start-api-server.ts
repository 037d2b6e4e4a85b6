import { EventEmitter, once } from 'node:events';
import { rmSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Activities, type Clock, formatTime, systemClock, systemRandom, systemUid } from '@gantry/base';
import { CONFIG_MAPS, TOKEN_TRACKING } from '@gantry/objects';
import { NO_POD_SECURITY_EXEMPTIONS, resources } from '@gantry/kinds';
import { decodeProtobuf } from '@gantry/apimachinery';
import { createMetrics, type GroupOutcome, type Logger, runGroup, silentLogger } from '@gantry/service';
import { fixedTls, type TlsMaterial } from '@gantry/tls';
import { type AgentStreams, createAgentStreams } from '../agents/agent-streams.ts';
import type { UsageSource } from '../agents/usage-source.ts';
import { type AgentLogs, createAgentLogs } from '../endpoints/logs/agent-logs.ts';
import { type AuditPolicy, createAuditTrail } from '../audit/index.ts';
import { createSigningKeys, fixedSigningKeys } from '../auth/authn/signing-keys.ts';
import { createLoopbackClient } from '../loopback-client.ts';
import type { Registry } from '../registry/index.ts';
import { ensureIncarnation } from '../incarnation.ts';
import { type ApiServerOptions, createApiServer } from '../server.ts';
import { createMemoryObjectStore } from '../storage/testing/memory-store.ts';
import { createTestPki, type TestPki } from './test-pki.ts';

/** An API server in this process, with its own CA. It uses the memory store by default. */
export interface TestApiServer extends AsyncDisposable {
  readonly url: string;
  readonly restPort: number;
  readonly grpcPort: number;
  readonly pki: TestPki;
  readonly admin: TlsMaterial;
  readonly registry: Registry;
  /** The valid bootstrap token. */
  readonly bootstrapToken: string;
  /** The kubeconfig of the administrator as text. */
  readonly kubeconfig: string;
  /** Resolves when the server has stopped. */
  readonly ended: Promise<GroupOutcome>;
  /** Sends its process a signal. */
  signal(name: NodeJS.Signals): void;
  stop(): Promise<GroupOutcome>;
}

export interface TestApiServerOptions {
  /** The usage that agents report. By default they report none. */
  readonly usage?: UsageSource;
  /** Calls agents. By default they are called at the addresses of their nodes. The same is true for `agentLogs`. */
  readonly agentStreams?: AgentStreams;
  readonly agentLogs?: AgentLogs;
  /** The built-in resources. Defaults to those of @gantry/kinds. */
  readonly resources?: ApiServerOptions['resources'];
  readonly store?: ApiServerOptions['store'];
  readonly clock?: Clock;
  readonly logger?: Logger;
  readonly restPort?: number;
  readonly grpcPort?: number;
  readonly unreadyMs?: number;
  readonly pki?: TestPki;
  readonly peers?: ApiServerOptions['peers'];
  readonly introspection?: ApiServerOptions['introspection'];
  readonly etcd?: ApiServerOptions['etcd'];
  /** The audit policy, and a function that gets the lines of the audit log. By default nothing is logged. */
  readonly audit?: { readonly policy: AuditPolicy; readonly append: (line: string) => void };
}

const LOGS_NOTHING: AuditPolicy = { rules: [], omitStages: [], omitManagedFields: false };

/** Starts a server. Waits until it is ready and has written its own objects. */
export async function startApiServer(options: TestApiServerOptions = {}): Promise<TestApiServer> {
  const clock = options.clock ?? systemClock;
  const logger = options.logger ?? silentLogger;
  const pki = options.pki ?? (await createTestPki(clock.now()));
  const serving = await pki.issue('system:apiserver', ['gantry:apiservers'], ['apiserver', 'kubernetes.default.svc']);
  const admin = await pki.issue('kubernetes-admin', ['system:masters']);
  const bootstrapDir = await mkdtemp(join(tmpdir(), 'gantry-apiserver-'));
  const bootstrapToken = 'abcdef.0123456789abcdef';
  await writeFile(join(bootstrapDir, 'token'), bootstrapToken);
  await writeFile(join(bootstrapDir, 'made-at'), formatTime(clock.now()));
  const rest = Promise.withResolvers<number>();
  const grpc = Promise.withResolvers<number>();
  const signals = new EventEmitter();
  const { members, health, registry } = createApiServer({
    signals,
    store: options.store ?? (await createStore(clock)),
    resources: options.resources ?? resources,
    tls: fixedTls(serving),
    agentTls: fixedTls(serving),
    frontProxy: fixedTls(await pki.issueFrontProxy()),
    signingKeys: fixedSigningKeys(createSigningKeys(pki.serviceAccountKey)),
    bootstrapDir,
    settings: {
      serviceCidr: '10.96.0.0/16',
      defaultTolerationSeconds: 5,
      podSecurityExemptions: NO_POD_SECURITY_EXEMPTIONS,
    },
    listen: {
      host: '127.0.0.1',
      restPort: options.restPort ?? 0,
      grpcPort: options.grpcPort ?? 0,
      onRest: rest.resolve,
      onGrpc: grpc.resolve,
    },
    unreadyMs: options.unreadyMs ?? 0,
    storeHealth: () => Promise.resolve([{ name: 'etcd-0', state: 'healthy', message: 'ok' }]),
    agentStreams: options.agentStreams ?? createAgentStreams(fixedTls(serving), clock),
    agentLogs: options.agentLogs ?? createAgentLogs(fixedTls(serving), clock),
    usage: options.usage ?? { read: () => Promise.resolve(new Map()) },
    ...(options.peers === undefined ? {} : { peers: options.peers }),
    ...(options.introspection === undefined ? {} : { introspection: options.introspection }),
    ...(options.etcd === undefined ? {} : { etcd: options.etcd }),
    clock,
    random: systemRandom,
    newUid: systemUid,
    logger,
    metrics: createMetrics(),
    activities: new Activities(clock),
    audit: createAuditTrail({
      policy: options.audit?.policy ?? LOGS_NOTHING,
      append: options.audit?.append ?? (() => undefined),
      clock,
      newUid: systemUid,
      decodeProtobuf: (bytes) => decodeProtobuf(bytes),
    }),
  });
  const ended = runGroup(members, { clock, logger, signals }).finally(() => rmSync(bootstrapDir, { recursive: true }));
  const [restPort, grpcPort] = await Promise.all([rest.promise, grpc.promise]);
  const isReady = async () => (await health.ready()).length === 0;
  const client = createLoopbackClient(registry);
  const isTracking = async () =>
    (await client.get(CONFIG_MAPS, TOKEN_TRACKING, 'cached', AbortSignal.any([]))) !== undefined;
  for (const holds of [isReady, isTracking]) {
    while (!(await holds())) await Promise.race([ended, once(nextTurn(), 'turn')]);
  }
  const stop = (): Promise<GroupOutcome> => {
    signals.emit('SIGTERM');
    return ended;
  };
  const url = `https://127.0.0.1:${restPort}`;
  return {
    url,
    restPort,
    grpcPort,
    pki,
    admin,
    registry,
    bootstrapToken,
    kubeconfig: kubeconfigOf(url, admin),
    ended,
    signal: (name) => void signals.emit(name),
    stop,
    [Symbol.asyncDispose]: async () => {
      await stop();
    },
  };
}

async function createStore(clock: Clock): Promise<ApiServerOptions['store']> {
  const store = createMemoryObjectStore({ clock, random: systemRandom, newUid: systemUid });
  await ensureIncarnation(store.etcd, systemUid, new AbortController().signal);
  return store;
}

/** An emitter that emits once, in a later turn of the event loop. */
function nextTurn(): EventEmitter {
  const emitter = new EventEmitter();
  setImmediate(() => emitter.emit('turn'));
  return emitter;
}

/** A kubeconfig with embedded certificates. It is JSON, which is also valid YAML. */
export function kubeconfigOf(server: string, { ca, cert, key }: TlsMaterial): string {
  const base64 = (bytes: Buffer): string => bytes.toString('base64');
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'gantry', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [{ name: 'admin', user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) } }],
    contexts: [{ name: 'gantry', context: { cluster: 'gantry', user: 'admin' } }],
    'current-context': 'gantry',
  });
}
