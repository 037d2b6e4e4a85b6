import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { HTTPGetAction } from '@gantry/objects';
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

/** The response: its status, its Location, and the beginning of a redirect's body. */
export interface HttpOutcome {
  readonly code: number;
  readonly location: string | undefined;
  readonly body: string;
}

const MAX_BODY_BYTES = 10 * 1024;
const MAX_REDIRECTS = 10;

/**
 * Sends a GET request. As in Kubernetes, certificates are not verified. Redirects to the same host are followed; a redirect to another
 * host is returned as the outcome. Rejects when there is no response.
 */
export async function httpGet(
  first: HttpTarget,
  { httpHeaders }: HTTPGetAction,
  target: ProbeTarget,
  userAgent: string,
  signal: AbortSignal,
): Promise<HttpOutcome> {
  let url = first.url;
  for (let followed = 0; ; followed++) {
    const outcome = await request(url, headersOf(httpHeaders, userAgent), target, signal);
    if (outcome.location === undefined || !isRedirect(outcome.code)) return outcome;
    const next = new URL(outcome.location, url);
    if (next.hostname !== new URL(first.url).hostname || !/^https?:$/.test(next.protocol)) return outcome;
    if (followed === MAX_REDIRECTS - 1) {
      throw new AgentError('Runtime', `Get ${JSON.stringify(next.href)}: stopped after 10 redirects`);
    }
    url = next.href;
  }
}

function isRedirect(code: number): boolean {
  return [301, 302, 303, 307, 308].includes(code);
}

function request(
  url: string,
  headers: Record<string, string>,
  target: ProbeTarget,
  signal: AbortSignal,
): Promise<HttpOutcome> {
  const { hostname, protocol } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  const guard = host === target.address ? undefined : probeLookup(target);
  guard?.check(host);
  const options = {
    signal,
    headers,
    agent: false,
    lookup: guard?.lookup,
    ...(protocol === 'https:' ? { rejectUnauthorized: false } : {}),
  };
  return new Promise((resolve, reject) => {
    const call = (protocol === 'https:' ? httpsRequest : httpRequest)(url, options, (response) => {
      const { statusCode: code = 0, headers: received } = response;
      const end = (body: string) => resolve({ code, location: received.location, body });
      if (code >= 300 && code < 400) beginningOf(response).then(end, reject);
      else {
        response.destroy();
        end('');
      }
    });
    call.on('error', reject);
    call.end();
  });
}

async function beginningOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  let read = Buffer.alloc(0);
  for await (const part of body) {
    read = Buffer.concat([read, part]);
    if (read.length >= MAX_BODY_BYTES) break;
  }
  return read.subarray(0, MAX_BODY_BYTES).toString();
}

/** The headers of a Kubernetes client, overridden by those of the action. An empty Accept or User-Agent is omitted. */
function headersOf(headers: HTTPGetAction['httpHeaders'], userAgent: string): Record<string, string> {
  const all = new Map([
    ['user-agent', ['User-Agent', userAgent]],
    ['accept', ['Accept', '*/*']],
    ['connection', ['Connection', 'close']],
  ]);
  for (const { name, value } of headers ?? []) all.set(name.toLowerCase(), [name, value]);
  const sent = [...all.values()].map(([name = '', value = '']) => [name, value] as const);
  return Object.fromEntries(sent.filter(([name, value]) => value !== '' || !/^(accept|user-agent)$/i.test(name)));
}

/** Requests a URL over HTTP or HTTPS. A status from 200 to 399 is a success, with a warning for a redirect to another host. */
export const httpGetProbe = defineProbeType('httpGet', async (action, target, signal): Promise<ProbeOutcome> => {
  const where = httpTargetOf(action, target);
  try {
    const { code, body } = await httpGet(where, action, target, 'kube-probe/1.36', signal);
    if (code >= 300 && code < 400) {
      return { kind: 'success', warning: `Probe terminated redirects, Response body: ${body}` };
    }
    return code >= 200 && code < 300 ? SUCCESS : failure(`HTTP probe failed with statuscode: ${code}`);
  } catch (error) {
    if (error instanceof AgentError || !(error instanceof Error)) throw error;
    const why = signal.aborted
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : dialError(error, where.host, where.port);
    return failure(`Get "${where.url}": ${why}`);
  }
});
