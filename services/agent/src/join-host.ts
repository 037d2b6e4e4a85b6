import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Random, sleep } from '@gantry/base';
import { createCertificateRequester, createGrpcClient, ignoreReasons, type ObjectClient } from '@gantry/client';
import { ENGINE_LABEL, type Node, NODES } from '@gantry/objects';
import type { Logger } from '@gantry/service';
import { createRequest, generateKey, openTlsFolder } from '@gantry/tls';
import type { JoinConfig } from './config.ts';
import { bootstrapRequester } from './identity/bootstrap-client.ts';
import { NodeCertificate } from './identity/node-certificate.ts';
import { engineName, firstNodeName } from './identity/node-identity.ts';
import { AgentError } from './runtime/agent-error.ts';
import type { EngineRuntime } from './runtime/engine.ts';

const POLL_MS = 300;
/** The names that the certificate of a proxy has on the first host, too. */
const PROXY_NAMES = ['proxy', 'localhost'];

export interface JoinOptions {
  readonly config: JoinConfig;
  readonly engine: Pick<EngineRuntime, 'info'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** What a host has got when it has joined. */
export interface JoinedHost {
  readonly node: string;
  /** The range for its network of pods. */
  readonly podCidr: string;
}

/**
 * Registers the Node of this host's first agent with the bootstrap token, waits for the range of the host's pods, and has a certificate for
 * the host's proxy signed. The agent, which starts when the network is there, requests a certificate for the same Node again. Throws
 * AgentError 'Identity' for a name that another host has, and for a range that is not assigned in time.
 */
export async function joinHost(options: JoinOptions, signal: AbortSignal): Promise<JoinedHost> {
  const { config, engine, clock, random, logger } = options;
  const info = await engine.info(signal);
  const node = firstNodeName(config.hostName === '' ? info.name : config.hostName);
  const folder = join(config.keyDir, 'join');
  const certificate = new NodeCertificate({
    node,
    engine: engineName(info.id),
    use: 'client',
    folder,
    readAuthority: () => readFile(join(config.bootstrapDir, 'ca.crt')),
    clock,
    random,
    logger,
  });
  await certificate.ensure(bootstrapRequester(config, clock, random), signal);
  using tls = await openTlsFolder(folder, { clock, logger }, signal);
  using client = createGrpcClient({ addresses: config.apiservers, tls, fieldManager: 'kubelet', clock, random });
  await registerNode(client, node, engineName(info.id), signal);
  const podCidr = await rangeOf(client, node, clock, signal);
  const request = createCertificateRequester(client, clock, 'kube-proxy');
  const key = await generateKey();
  const signed = await request(
    await createRequest('O=gantry:services, CN=system:kube-proxy', PROXY_NAMES, key),
    signal,
  );
  await writeFiles(config.proxyTlsDir, { 'ca.crt': tls.current().ca, 'tls.key': key, 'tls.crt': signed });
  return { node, podCidr };
}

/** Creates the Node without a status: nothing runs there yet. */
async function registerNode(client: ObjectClient, name: string, engine: string, signal: AbortSignal): Promise<void> {
  const labels = { [ENGINE_LABEL]: engine, 'kubernetes.io/hostname': name };
  const object: Node = { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } };
  await ignoreReasons(client.create(NODES, object, signal), ['AlreadyExists']);
  const { metadata } = await client.get(NODES, { namespace: '', name }, signal);
  const owner = metadata.labels?.[ENGINE_LABEL] ?? '(none)';
  if (owner === engine) return;
  throw new AgentError(
    'Identity',
    `node ${name} belongs to another host, of the engine ${owner}: join with another --name`,
  );
}

async function rangeOf(client: ObjectClient, name: string, clock: Clock, signal: AbortSignal): Promise<string> {
  for (;;) {
    const { spec } = await client.get(NODES, { namespace: '', name }, signal);
    if (spec?.podCIDR !== undefined && spec.podCIDR !== '') return spec.podCIDR;
    await sleep(clock, POLL_MS, signal);
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    const path = join(folder, name);
    await writeFile(`${path}.new`, content, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
}
