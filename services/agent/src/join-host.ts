import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type Random, sleep, withDeadline } from '@gantry/base';
import { createCertificateRequester, createGrpcClient, ignoreReasons, type ObjectClient } from '@gantry/client';
import { ENGINE_LABEL, FIXED_SERVICES, HOSTNAME_LABEL, type Node, NODES } from '@gantry/objects';
import { type Logger, replaceFile } from '@gantry/service';
import { createRequest, generateKey, openTlsFolder } from '@gantry/tls';
import type { JoinConfig } from './config.ts';
import { bootstrapRequester } from './identity/bootstrap-client.ts';
import { NodeCertificate } from './identity/node-certificate.ts';
import { engineName, firstNodeName } from './identity/node-identity.ts';
import { AgentError } from './runtime/agent-error.ts';
import type { EngineRuntime } from './runtime/engine.ts';

const POLL_MS = 300;
/** The time limit of each step that waits for the control plane. */
const STEP_MS = 60_000;
/** The names in the certificate of a proxy, as on the first host. */
const PROXY_NAMES = ['proxy', 'localhost'];

export interface JoinOptions {
  readonly config: JoinConfig;
  readonly engine: Pick<EngineRuntime, 'info'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** The result of joining a host. */
export interface JoinedHost {
  readonly node: string;
  /** The range of the host's network of pods. */
  readonly podCidr: string;
}

/**
 * Registers the Node of this host's first agent with the bootstrap token, waits for the host's range of pods, and requests a certificate
 * for the host's proxy. The agent starts when the network exists, and requests a certificate for the same Node again. Throws AgentError
 * 'Identity' for a name that another host uses, and for a step that takes longer than a minute; the message names the step.
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
  const step = <T>(failure: string, work: (abort: AbortSignal) => Promise<T>) =>
    inTime({ failure, clock }, work, signal);
  await step(`node ${node} got no certificate`, (abort) =>
    certificate.ensure(bootstrapRequester(config, clock, random), abort),
  );
  using tls = await openTlsFolder(folder, { clock, logger }, signal);
  using client = createGrpcClient({ addresses: config.apiservers, tls, fieldManager: 'kubelet', clock, random });
  await step(`node ${node} was not registered`, (abort) => registerNode(client, node, engineName(info.id), abort));
  const podCidr = await podRangeOf({ client, node, clock }, signal);
  const request = createCertificateRequester(client, clock, 'kube-proxy');
  const key = await generateKey();
  const terms = await createRequest(`O=${FIXED_SERVICES}, CN=system:kube-proxy`, PROXY_NAMES, key);
  const signed = await step('the proxy got no certificate', (abort) => request(terms, abort));
  await writeFiles(config.proxyTlsDir, { 'ca.crt': tls.current().ca, 'tls.key': key, 'tls.crt': signed });
  return { node, podCidr };
}

/** Creates the Node without a status: nothing runs there yet. */
async function registerNode(client: ObjectClient, name: string, engine: string, signal: AbortSignal): Promise<void> {
  const labels = { [ENGINE_LABEL]: engine, [HOSTNAME_LABEL]: name };
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

/** Waits for the range of pods that the controller manager assigns to a Node. Throws AgentError 'Identity' on timeout. */
export function podRangeOf(
  { client, node, clock }: { readonly client: Pick<ObjectClient, 'get'>; readonly node: string; readonly clock: Clock },
  signal: AbortSignal,
): Promise<string> {
  const failure = `node ${node} got no range of pods (spec.podCIDR) from the controller manager, whose Events of the Node may say why`;
  const read = async (abort: AbortSignal) => {
    for (;;) {
      const { spec } = await client.get(NODES, { namespace: '', name: node }, abort);
      if (spec?.podCIDR !== undefined && spec.podCIDR !== '') return spec.podCIDR;
      await sleep(clock, POLL_MS, abort);
    }
  };
  return inTime({ failure, clock }, read, signal);
}

/** Runs a step with its own time limit. A failure after the limit is reported as `failure`. */
async function inTime<T>(
  { failure, clock }: { readonly failure: string; readonly clock: Clock },
  work: (signal: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  using deadline = withDeadline(clock, signal, STEP_MS);
  try {
    return await work(deadline);
  } catch (error) {
    if (!deadline.aborted || signal.aborted || error instanceof AgentError) throw error;
    throw new AgentError('Identity', `${failure} (waited ${STEP_MS / 1000} s)`, { cause: error });
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string | Uint8Array>>): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    await replaceFile(join(folder, name), content, { mode: 0o600 });
  }
}
