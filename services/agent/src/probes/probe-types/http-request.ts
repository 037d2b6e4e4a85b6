import { type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { HTTPGetAction } from '@gantry/objects';
import { onUnaskedSwitch } from '@gantry/tls';
import { AgentError } from '../../runtime/agent-error.ts';
import { probeLookup } from './probe-host.ts';
import {
  portNumber,
  type ProbeTarget,
  defineProbeType,
  dialError,
  failure,
  type ProbeOutcome,
  SUCCESS,
} from './probe-type.ts';

/** The target of a probe's or hook's request. */
export interface HttpTarget {
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly scheme: 'http' | 'https';
}

/** The URL of an action. Its host defaults to the pod's address. */
export function httpTargetOf(action: HTTPGetAction, { container, address }: ProbeTarget): HttpTarget {
  const host = action.host === undefined || action.host === '' ? address : action.host;
  const scheme = action.scheme === 'HTTPS' ? 'https' : 'http';
  const path = action.path === undefined || action.path === '' ? '/' : action.path;
  const port = portNumber(action.port, container);
  return { url: `${scheme}://${host}:${port}${path.startsWith('/') ? path : `/${path}`}`, host, port, scheme };
}

/** The part of a body that is read (Kubernetes: maxRespBodyLength). */
const MAX_BODY_BYTES = 10 * 1024;
/** The size limit of a response's head. Go's client has 10 MiB, which a node with many probes could not hold. */
const MAX_HEAD_BYTES = 1024 * 1024;
const MAX_REDIRECTS = 10;

/**
 * Sends a GET request. As in Kubernetes, certificates are not verified. Redirects to the same host are followed; a redirect to another
 * host is returned as the response. Rejects when there is no response. The caller has to read or destroy the body.
 */
async function httpGet(
  first: HttpTarget,
  { httpHeaders }: HTTPGetAction,
  target: ProbeTarget,
  userAgent: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let url = first.url;
  for (let followed = 0; ; followed++) {
    const response = await request(url, headersOf(httpHeaders, userAgent), target, signal);
    const { statusCode = 0, headers } = response;
    if (headers.location === undefined || !isRedirect(statusCode)) return response;
    const next = new URL(headers.location, url);
    if (next.hostname !== new URL(first.url).hostname || !/^https?:$/.test(next.protocol)) return response;
    response.destroy();
    if (followed === MAX_REDIRECTS - 1) {
      throw new AgentError('Runtime', `Get ${JSON.stringify(next.href)}: stopped after 10 redirects`);
    }
    url = next.href;
  }
}

/**
 * Sends the request of a hook and waits for the end of a short body, like the kubelet (pkg/kubelet/lifecycle/handlers.go): any response is
 * a success, also with an incomplete body. Rejects when there is no response.
 */
export async function requestHook(
  first: HttpTarget,
  action: HTTPGetAction,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<void> {
  const response = await httpGet(first, action, target, 'kube-lifecycle/1.36', signal);
  if (Number(response.headers['content-length'] ?? 0) > MAX_BODY_BYTES) {
    response.destroy();
    return;
  }
  try {
    await beginningOf(response);
  } catch {
    signal.throwIfAborted();
  }
}

function isRedirect(code: number): boolean {
  return [301, 302, 303, 307, 308].includes(code);
}

function request(
  url: string,
  headers: Record<string, string | string[]>,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { hostname, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const guard = host === target.address ? undefined : probeLookup(target);
  guard?.check(host);
  const options = {
    signal,
    headers,
    agent: false,
    lookup: guard?.lookup,
    // Like Go's client, accepts lines without a carriage return, and other forms that the parser refuses by default, because they could hide
    // one response in another. Here, each connection has one response, which nobody else reads.
    insecureHTTPParser: true,
    maxHeaderSize: MAX_HEAD_BYTES,
    ...(protocol === 'https:' ? { rejectUnauthorized: false } : {}),
  };
  return new Promise((resolve, reject) => {
    const call = (protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve);
    call.on('error', reject);
    onUnaskedSwitch(call, (response) => {
      // Its body has ended with the connection.
      response.push(null);
      resolve(response);
    });
    call.end();
  });
}

/** The body, or its first 10 KB. Rejects when the server closes before the end. */
async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  let read = Buffer.alloc(0);
  for await (const part of body) {
    read = Buffer.concat([read, part]);
    if (read.length >= MAX_BODY_BYTES) break;
  }
  return read.subarray(0, MAX_BODY_BYTES).toString();
}

/** Headers that Go's client computes, whatever the action says (reqWriteExcludeHeader of net/http). */
const COMPUTED = /^(content-length|transfer-encoding|trailer)$/;
/** Headers of which Go's client sends the first value alone, and none if that is empty. */
const SINGLE = /^(host|user-agent)$/;

/** A header's value as UTF-8, one character for each byte, as Node.js sends it. */
function inBytes(value: string): string {
  return Buffer.from(value).toString('latin1');
}

/** The headers of a Kubernetes client, overridden by those of the action. Of a repeated name all values are sent, in their order. */
function headersOf(headers: HTTPGetAction['httpHeaders'] = [], userAgent: string): Record<string, string | string[]> {
  const own = Map.groupBy(headers, ({ name }) => name.toLowerCase());
  const sent: Record<string, string | string[]> = {};
  for (const [name, value] of [
    ['User-Agent', userAgent],
    ['Accept', '*/*'],
    ['Connection', 'close'],
  ] as const) {
    if (!own.has(name.toLowerCase())) sent[name] = value;
  }
  for (const [key, all] of own) {
    const [{ name, value: first } = { name: key, value: '' }] = all;
    if (COMPUTED.test(key) || ((key === 'accept' || SINGLE.test(key)) && first === '')) continue;
    sent[name] = SINGLE.test(key) ? inBytes(first) : all.map(({ value }) => inBytes(value));
  }
  return sent;
}

/**
 * Requests a URL over HTTP or HTTPS. A status from 200 to 399 is a success, with a warning for a redirect to another host. Whatever the
 * status, the body must arrive in time, or its first 10 KB (pkg/probe/http/http.go).
 */
export const httpGetProbe = defineProbeType('httpGet', async (action, target, signal): Promise<ProbeOutcome> => {
  const where = httpTargetOf(action, target);
  let response: IncomingMessage;
  try {
    response = await httpGet(where, action, target, 'kube-probe/1.36', signal);
  } catch (error) {
    if (error instanceof AgentError || !(error instanceof Error)) throw error;
    const why = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : dialError(error, where.host, where.port);
    return failure(`Get "${where.url}": ${why}`);
  }
  let body: string;
  try {
    body = await beginningOf(response);
  } catch {
    const why = signal.aborted
      ? 'context deadline exceeded (Client.Timeout or context cancellation while reading body)'
      : 'unexpected EOF';
    return { kind: 'failure', message: why, cause: 'error' };
  }
  const { statusCode: code = 0 } = response;
  if (code >= 300 && code < 400) {
    return { kind: 'success', warning: `Probe terminated redirects, Response body: ${body}` };
  }
  return code >= 200 && code < 300 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`);
});
