import { type Agent, request } from 'node:http';
import type { HttpClient } from '@gantry/client';
import { type Container, type Pod, PODS, type PodTemplateSpec } from '@gantry/objects';
import { CommandError } from '../../machine/command-error.ts';
import type { WorkloadContext } from './workload.ts';

const PORT = 8080;
const DATA = '/data';
const STATE = '/state';
/** Exists when a readiness probe was answered with success, also by an earlier container of the pod. */
const READY = `${STATE}/ready`;
/** Longer than any request of the workloads. */
const QUIET_MS = 6_000;

/**
 * Serves on port 8080. `GET /` answers with the uid of the pod, and ` never-ready` behind it if no readiness probe has been answered with
 * success in the pod's life; a process does so after `WARM_UP_MS`. `POST /lines/<pod>` appends the body to a file as a line, and answers with the
 * uid when it is on the disk; `GET /lines/<pod>` is the file. Another pod's name is refused: an address may belong to a new pod by now. Once it is
 * to stop, it closes each connection with its response, and ends when it has none and got no request for a while.
 */
const SERVER = `
const { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeFileSync, writeSync } = require('node:fs');
const [name, uid, file] = [require('node:os').hostname(), process.env.POD_UID, '${DATA}/lines'];
const warmUpMs = Number(process.env.WARM_UP_MS ?? 0);
const append = (line) => {
  const open = openSync(file, 'a');
  writeSync(open, line + '\\n');
  fsyncSync(open);
  closeSync(open);
};
let [isStopping, lastAt] = [false, 0];
const sockets = new Set();
const server = require('node:http').createServer((request, response) => {
  if (request.url !== '/ready') lastAt = performance.now();
  if (isStopping) response.setHeader('connection', 'close');
  const end = (status, text) => { response.statusCode = status; response.end(text); };
  if (request.url === '/ready') {
    if (performance.now() < warmUpMs) return end(503, 'not yet');
    if (!existsSync('${READY}')) writeFileSync('${READY}', '');
    return end(200, uid);
  }
  if (!request.url.startsWith('/lines/')) return end(200, existsSync('${READY}') ? uid : uid + ' never-ready');
  if (request.url !== '/lines/' + name) return end(409, name);
  if (request.method === 'GET') return end(200, existsSync(file) ? readFileSync(file) : '');
  let body = '';
  request.setEncoding('utf8').on('data', (part) => (body = (body + part).slice(0, 1000)));
  request.on('end', () => { append(body.replaceAll('\\n', ' ')); end(200, uid); });
});
server.keepAliveTimeout = 0;
server.on('connection', (socket) => { sockets.add(socket); socket.on('close', () => sockets.delete(socket)); });
server.listen(${PORT}, '0.0.0.0');
process.on('SIGTERM', () => {
  [isStopping, lastAt] = [true, performance.now()];
  setInterval(() => { if (sockets.size === 0 && performance.now() - lastAt > ${QUIET_MS}) process.exit(0); }, 50);
});
`;

/** The uid of the pod for programs in its containers. */
export const POD_UID_VARIABLE = { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } } as const;

interface ServerOptions {
  /** A claim for its file. */
  readonly volume?: string;
  /** How long each process answers requests before it calls itself ready. */
  readonly warmUpMs?: number;
}

/** A pod that runs the server, from the image of the cluster's services, which has Node.js. */
export function serverTemplate(
  image: string,
  app: string,
  { volume, warmUpMs = 0 }: ServerOptions = {},
): PodTemplateSpec {
  const main: Container = {
    name: 'main',
    image,
    command: ['node', '-e', SERVER],
    env: [POD_UID_VARIABLE, { name: 'WARM_UP_MS', value: String(warmUpMs) }],
    ports: [{ containerPort: PORT }],
    readinessProbe: { httpGet: { port: PORT, path: '/ready' }, periodSeconds: 1, timeoutSeconds: 5 },
    volumeMounts: [
      { name: 'state', mountPath: STATE },
      ...(volume === undefined ? [] : [{ name: volume, mountPath: DATA }]),
    ],
  };
  return {
    metadata: { labels: { app } },
    spec: { terminationGracePeriodSeconds: 15, containers: [main], volumes: [{ name: 'state', emptyDir: {} }] },
  };
}

/** What a StatefulSet of such pods needs for their files. */
export const dataClaim = (name: string) => ({
  apiVersion: 'v1' as const,
  kind: 'PersistentVolumeClaim' as const,
  metadata: { name },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Mi' } } },
});

interface Ask {
  /** The header, if it is not that of the URL. */
  readonly host?: string;
  readonly method?: 'GET' | 'POST';
  readonly body?: string;
  readonly agent?: Agent;
  readonly timeoutMs: number;
}

/** A response that is no success. */
class AnswerError extends Error {
  override readonly name = 'AnswerError';
}

/** Sends one request. Rejects without a successful response; `code` of the error tells why. */
export function ask(url: string, { host, method = 'GET', body, agent, timeoutMs }: Ask): Promise<string> {
  return new Promise((resolve, reject) => {
    // Without an agent, each request has a connection of its own.
    const headers = host === undefined ? {} : { headers: { host } };
    const options = { method, ...headers, agent: agent ?? false, signal: AbortSignal.timeout(timeoutMs) };
    const sent = request(url, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200) resolve(text);
        else reject(new AnswerError(`status ${response.statusCode}`));
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

/** Where a pod serves its file, as the API has it now. Undefined while it has no address. */
export async function fileOf(api: HttpClient, namespace: string, pod: string, signal: AbortSignal) {
  const { status }: Pod = await api.get(PODS, { namespace, name: pod }, signal);
  return status?.podIP === undefined ? undefined : `http://${status.podIP}:${PORT}/lines/${pod}`;
}

const START_MS = 120_000;
const START_REQUEST_MS = 5_000;

/**
 * Waits until a server of a workload responds to this machine, before there are faults. `urlOf` resolves with undefined while it has no address.
 * Throws CommandError after two minutes: on Docker Desktop, the machine reaches neither pods nor Services.
 */
export async function reachable(
  { untilRight }: Pick<WorkloadContext, 'untilRight'>,
  workload: string,
  urlOf: (signal: AbortSignal) => Promise<string | undefined>,
): Promise<void> {
  const look = async (signal: AbortSignal) => {
    const url = await urlOf(signal);
    if (url === undefined) return ['its server has no address'];
    await ask(url, { timeoutMs: START_REQUEST_MS });
    return [];
  };
  const wrong = await untilRight(look, START_MS);
  if (wrong.length === 0) return;
  const fix = 'this machine must reach addresses of pods and Services; choose other workloads with --workload';
  throw new CommandError(`--workload: ${workload} does not start: ${wrong.join('; ')}`, fix);
}
