import type { OutgoingHttpHeaders } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ApiConstructor, type ApiType, CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { eventually } from '../harness/eventually.ts';
import { type KubectlVersion, kubectlVersions } from '../harness/kubectl-versions.ts';
import { type Result, type Running, runProgram, startProgram } from '../harness/process.ts';
import { FreshDocument } from './fresh-document.ts';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..');
const READY_MS = 120_000;

/** An answer as it came, for what no typed method asks. */
export interface RawAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly text: string;
}

export interface RawRequest {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
}

interface OpenApi {
  readonly definitions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** The cluster under test: what all tests of a run share. */
export class ClusterUnderTest {
  readonly kubeconfig: string;
  readonly config = new KubeConfig();
  readonly kubectls: readonly KubectlVersion[];
  /** Makes the store forget its history up to now. */
  readonly compact: () => Promise<void>;
  /** /openapi/v2, which is large, and which many tests look into again and again. */
  readonly openApi: FreshDocument<OpenApi>;
  readonly #apis = new Map<unknown, ApiType>();
  readonly #run = `${process.pid.toString(36)}${Math.floor(performance.timeOrigin).toString(36).slice(-5)}`;
  #names = 0;

  constructor(kubeconfig: string, compact: () => Promise<void>) {
    this.kubeconfig = kubeconfig;
    this.compact = compact;
    this.config.loadFromFile(kubeconfig);
    this.kubectls = kubectlVersions(ROOT);
    const known: { etag: string; document: OpenApi } = { etag: '', document: { definitions: {} } };
    this.openApi = new FreshDocument(async () => {
      const headers = { accept: 'application/json', 'if-none-match': known.etag };
      const answer = await this.raw('/openapi/v2', { headers });
      if (answer.status === 304) return known.document;
      if (answer.status !== 200) throw new Error(`/openapi/v2 answered ${answer.status}`);
      known.etag = String(answer.headers['etag'] ?? '');
      known.document = JSON.parse(answer.text) as OpenApi;
      return known.document;
    });
  }

  /** The typed client of one API group's version. */
  api<T extends ApiType>(type: ApiConstructor<T>): T {
    const found = this.#apis.get(type) ?? this.config.makeApiClient(type);
    this.#apis.set(type, found);
    return found as T;
  }

  /** A name that no other test uses. */
  unique(base: string): string {
    this.#names++;
    return `${base}-${this.#run}-${this.#names}`;
  }

  async raw(path: string, { method = 'GET', headers = {}, body }: RawRequest = {}): Promise<RawAnswer> {
    const options: RequestOptions = { method, headers: headers as OutgoingHttpHeaders, agent: false };
    await this.config.applyToHTTPSOptions(options);
    const server = this.config.getCurrentCluster()?.server ?? '';
    return await new Promise((done, reject) => {
      const call = request(new URL(path, server), options, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        response.once('end', () => done({ status: response.statusCode ?? 0, headers: response.headers, text }));
        response.once('error', reject);
      });
      call.once('error', reject);
      call.end(body);
    });
  }
}

/** What one test has to itself: namespaces, names, and what it leaves behind, which is removed in the end. */
export class World implements AsyncDisposable {
  readonly cluster: ClusterUnderTest;
  readonly core: CoreV1Api;
  readonly #cleanups: (() => Promise<unknown>)[] = [];

  constructor(cluster: ClusterUnderTest) {
    this.cluster = cluster;
    this.core = cluster.api(CoreV1Api);
  }

  api<T extends ApiType>(type: ApiConstructor<T>): T {
    return this.cluster.api(type);
  }

  unique(base: string): string {
    return this.cluster.unique(base);
  }

  /** Does this when the test is over, whatever became of it; what is gone by then is no failure. */
  atEnd(cleanup: () => Promise<unknown>): void {
    this.#cleanups.push(cleanup);
  }

  /** A namespace of the test's own, with all that every namespace is given. Its name is also a label of it. */
  async namespace(labels: Readonly<Record<string, string>> = {}): Promise<string> {
    const name = this.unique('conf');
    await this.core.createNamespace({ body: { metadata: { name, labels: { [name]: 'true', ...labels } } } });
    this.atEnd(() => this.core.deleteNamespace({ name }));
    await eventually(`namespace ${name} has its service account and root CA`, READY_MS, async () => {
      await this.core.readNamespacedServiceAccount({ name: 'default', namespace: name });
      await this.core.readNamespacedConfigMap({ name: 'kube-root-ca.crt', namespace: name });
      return true;
    });
    return name;
  }

  /** Runs a kubectl to its end, whatever its exit code. */
  kubectl(version: KubectlVersion, args: readonly string[], input?: string): Promise<Result> {
    const env = { KUBECONFIG: this.cluster.kubeconfig };
    return runProgram(version.program, args, { env, ...(input === undefined ? {} : { input }) });
  }

  /** The output of a kubectl that must succeed. */
  async mustKubectl(version: KubectlVersion, args: readonly string[], input?: string): Promise<string> {
    const { code, stdout, stderr } = await this.kubectl(version, args, input);
    if (code !== 0) throw new Error(`kubectl ${version.name} ${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return stdout;
  }

  startKubectl(version: KubectlVersion, args: readonly string[]): Running {
    return startProgram(version.program, args, { KUBECONFIG: this.cluster.kubeconfig });
  }

  /** All is removed that can be, even when something cannot. */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = [];
    for (const cleanup of this.#cleanups.splice(0).reverse()) {
      try {
        await cleanup();
      } catch (error) {
        if ((error as { code?: unknown }).code !== 404) failures.push(error);
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, `not all was removed: ${failures.map(String).join('; ')}`);
  }
}

/** One behaviour that the official suite asks, proved by us. */
export interface Proof {
  readonly codename: string;
  /** `alone`: it disturbs others, asks so much that they would wait, or counts what is everybody's. */
  readonly when: 'together' | 'alone';
  readonly prove: (world: World) => Promise<void>;
}

export function proof(codename: string, prove: (world: World) => Promise<void>): Proof {
  return { codename, when: 'together', prove };
}

export function proofAlone(codename: string, prove: (world: World) => Promise<void>): Proof {
  return { codename, when: 'alone', prove };
}
