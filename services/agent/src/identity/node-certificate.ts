import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, ControlLoop, errorMessage, type Random, randomSuffix, sleep, untilDone } from '@gantry/base';
import { CERTIFICATE_SIGNING_REQUESTS, type CertificateSigningRequest, isReason } from '@gantry/objects';
import type { ObjectClient } from '@gantry/client';
import { type Logger, replaceFile } from '@gantry/service';
import { type CertificateLife, generateKey } from '@gantry/tls';
import { AgentError } from '../runtime/agent-error.ts';
import { type CertificateUse, createNodeRequest, REQUEST_TERMS, usableLife } from './certificate-request.ts';

const POLL_MS = 200;
const SIGNING_MS = 30_000;
const RETRY_MS = 1_000;
const RENEWAL_RETRY_MS = 30_000;
/** Limits one wait, because timers cannot be arbitrarily long. Checking again is cheap. */
const LOOK_EVERY_MS = 3_600_000;

export interface NodeCertificateOptions {
  readonly node: string;
  readonly engine: string;
  readonly use: CertificateUse;
  /** Contains `ca.crt`, `tls.crt` and `tls.key`. */
  readonly folder: string;
  readonly readAuthority: () => Promise<Uint8Array>;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Opens a client that may create certificate requests. A disposable client is disposed of after the request. */
export type Requester = () => Promise<RequestClient & Partial<Disposable>>;

type RequestClient = Pick<ObjectClient, 'create' | 'get'>;

/** A certificate of this node in a TLS folder. It is requested by a CertificateSigningRequest and renewed with the same key. */
export class NodeCertificate {
  readonly #options: NodeCertificateOptions;
  /** The name of an undecided request. The agent waits for it instead of creating another one. */
  #pending: string | undefined;

  constructor(options: NodeCertificateOptions) {
    this.#options = options;
  }

  /** Returns when the folder contains a valid certificate; requests one until it is signed. */
  async ensure(requester: Requester, signal: AbortSignal): Promise<void> {
    const { clock, logger, use } = this.#options;
    const onReason = (reason: string) => logger.info({ use, reason }, 'no certificate yet');
    const ensure = async () => {
      const state = await this.#read();
      if (state === undefined || clock.now() >= state.endsAt) await this.#request(requester, signal);
    };
    await untilDone({ clock, everyMs: RETRY_MS, onReason }, ensure, signal);
  }

  /** Renews the certificate after two thirds of its validity, until `signal` is aborted. */
  async renew(requester: Requester, signal: AbortSignal): Promise<void> {
    const { clock, logger, use } = this.#options;
    await new ControlLoop({
      round: async () => {
        const state = await this.#read();
        const waitMs = state === undefined ? 0 : state.renewAt - clock.now();
        if (waitMs > 0) return Math.min(waitMs, LOOK_EVERY_MS);
        await this.#request(requester, signal);
        logger.info({ use }, 'certificate renewed');
        return 0;
      },
      intervalMs: RENEWAL_RETRY_MS,
      onError: (error) => logger.warn({ use, reason: errorMessage(error) }, 'certificate not renewed'),
      clock,
    }).run(signal);
  }

  async #read(): Promise<CertificateLife | undefined> {
    const [certificate, key] = await Promise.all([this.#file('tls.crt'), this.#file('tls.key')]);
    if (certificate === undefined || key === undefined) return undefined;
    const { engine, use, readAuthority } = this.#options;
    return usableLife(certificate, { engine, use, key, authority: await readAuthority() });
  }

  async #file(name: string): Promise<string | undefined> {
    try {
      return await readFile(join(this.#options.folder, name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #request(requester: Requester, signal: AbortSignal): Promise<void> {
    const { folder, use, readAuthority } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    let key = await this.#file('tls.key');
    if (key === undefined) {
      key = await generateKey();
      await this.#write('tls.key', key);
    }
    const request = await createNodeRequest(this.#options, use, key);
    const client = await requester();
    try {
      const certificate = await this.#sign(client, request, signal);
      await this.#write('ca.crt', await readAuthority());
      await this.#write('tls.crt', certificate);
    } finally {
      client[Symbol.dispose]?.();
    }
  }

  async #write(name: string, content: string | Uint8Array): Promise<void> {
    await replaceFile(join(this.#options.folder, name), content, { mode: 0o600 });
  }

  async #sign(client: RequestClient, request: string, signal: AbortSignal): Promise<string> {
    const { clock } = this.#options;
    this.#pending ??= await this.#create(client, request, signal);
    const name = this.#pending;
    const deadline = clock.monotonicMs() + SIGNING_MS;
    while (clock.monotonicMs() < deadline) {
      await sleep(clock, POLL_MS, signal);
      const found = await this.#get(client, name, signal);
      const denial = found.status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (denial !== undefined) {
        this.#pending = undefined;
        const why = denial.message ?? denial.reason ?? denial.type;
        throw new AgentError('Identity', `request ${name} was denied: ${why}`);
      }
      const certificate = found.status?.certificate;
      if (certificate !== undefined && certificate !== '') {
        this.#pending = undefined;
        return Buffer.from(certificate, 'base64').toString();
      }
    }
    throw new AgentError('Identity', `request ${name} is not signed yet`);
  }

  async #create(client: RequestClient, request: string, signal: AbortSignal): Promise<string> {
    const { node, use, random } = this.#options;
    const { signerName, usages } = REQUEST_TERMS[use];
    const name = `node-csr-${node.slice(0, 40)}-${randomSuffix(random, 8)}`;
    const object: CertificateSigningRequest = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { name },
      spec: { request: Buffer.from(request).toString('base64'), signerName, usages: [...usages] },
    };
    await client.create(CERTIFICATE_SIGNING_REQUESTS, object, signal);
    return name;
  }

  async #get(client: RequestClient, name: string, signal: AbortSignal): Promise<CertificateSigningRequest> {
    try {
      return await client.get(CERTIFICATE_SIGNING_REQUESTS, { namespace: '', name }, signal);
    } catch (error) {
      if (isReason(error, 'NotFound')) this.#pending = undefined;
      throw error;
    }
  }
}
