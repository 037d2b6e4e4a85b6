import type { IncomingMessage } from 'node:http';
import { type Agent, request as httpsRequest } from 'node:https';
import { anySignal, type Clock, DeadlineError } from '@gantry/base';
import { type Status, StatusError, type StatusReason } from '@gantry/objects';
import { createHttpsAgent, type TlsMaterial, type TlsSource } from '@gantry/tls';
import type { HttpTarget } from './kubeconfig.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, as in `/api/v1/pods?limit=1`. */
  readonly path: string;
  readonly body?: Uint8Array | string;
  readonly contentType?: string;
  readonly accept?: string;
}

/** The failure of a request without a response: it was not sent, or its outcome is unknown. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly sent: 'no' | 'perhaps';

  constructor(sent: ConnectionError['sent'], cause: Error) {
    super(cause.message, { cause });
    this.sent = sent;
  }
}

/** HTTPS requests to one API server, over connections that are kept. */
export class HttpTransport implements Disposable {
  readonly #target: HttpTarget;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #unsubscribe: () => void;
  #agent: Agent;

  constructor(target: HttpTarget & { readonly tls?: TlsSource }, userAgent: string, clock: Clock) {
    this.#clock = clock;
    this.#target = target;
    this.#userAgent = userAgent;
    const { tls } = target;
    this.#agent = agentFor(target, tls?.current() ?? target);
    const renew = (material: TlsMaterial): void => {
      // What goes on over the old connections goes on; new requests show the new certificate.
      this.#agent = agentFor(target, material);
    };
    this.#unsubscribe = tls?.subscribe(renew) ?? (() => undefined);
  }

  /**
   * The response's head, body still to be read. A code of 400 and more rejects with the StatusError in its body, what fails
   * before with ConnectionError or the signal's reason. A head that does not come within `headMs` is such a failure.
   */
  async open(request: HttpRequest, signal: AbortSignal, headMs = Number.POSITIVE_INFINITY): Promise<IncomingMessage> {
    const late = new AbortController();
    const either = anySignal(signal, late.signal);
    const expire = (): void => late.abort(new DeadlineError(`no response within ${headMs} ms`));
    const cancel = headMs === Number.POSITIVE_INFINITY ? undefined : this.#clock.setTimer(headMs, expire);
    const response = await this.#send(request, either)
      .catch((error: unknown) => {
        either[Symbol.dispose]();
        signal.throwIfAborted();
        throw late.signal.aborted ? new ConnectionError('perhaps', late.signal.reason as DeadlineError) : error;
      })
      .finally(() => cancel?.());
    response.once('close', () => either[Symbol.dispose]());
    const { statusCode = 500 } = response;
    if (statusCode >= 400) throw parseFailure(statusCode, await readText(response, signal));
    return response;
  }

  /** The whole answer as text; rejects as `open` does. */
  async text(request: HttpRequest, signal: AbortSignal, headMs?: number): Promise<string> {
    return readText(await this.open(request, signal, headMs), signal);
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#agent.destroy();
  }

  #send(request: HttpRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    let connected: ConnectionError['sent'] = 'no';
    const call = httpsRequest(`${this.#target.server}${request.path}`, {
      method: request.method,
      agent: this.#agent,
      signal,
      headers: this.#headers(request),
    });
    call.on('socket', (socket) => {
      if (!socket.connecting && call.reusedSocket) connected = 'perhaps';
      else socket.once('secureConnect', () => (connected = 'perhaps'));
    });
    call.on('response', resolve);
    call.on('error', (error) => reject(signal.aborted ? signal.reason : new ConnectionError(connected, error)));
    call.end(request.body);
    return promise;
  }

  #headers(request: HttpRequest): Record<string, string> {
    return {
      accept: request.accept ?? 'application/json',
      'user-agent': this.#userAgent,
      ...(request.body === undefined
        ? {}
        : {
            'content-type': request.contentType ?? 'application/json',
            'content-length': String(Buffer.byteLength(request.body)),
          }),
      ...(this.#target.token === undefined ? {} : { authorization: `Bearer ${this.#target.token}` }),
    };
  }
}

function agentFor({ serverName }: HttpTarget, { ca, cert, key }: Partial<TlsMaterial>): Agent {
  return createHttpsAgent({
    maxCachedSessions: 10,
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(serverName === undefined ? {} : { servername: serverName }),
  });
}

async function readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    signal.throwIfAborted();
    throw new ConnectionError('perhaps', error as Error);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const REASON_OF_CODE: Partial<Record<number, StatusReason>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Expired',
  413: 'RequestEntityTooLarge',
  429: 'TooManyRequests',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};

/** The StatusError of a failed answer, whether its body is a Status or not. */
export function parseFailure(code: number, text: string): StatusError {
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === 'Status') return StatusError.fromStatus({ ...status, code });
  } catch {
    // Not JSON: a proxy's page or a plain text, which serves as the message below.
  }
  return new StatusError(REASON_OF_CODE[code] ?? 'InternalError', text.trim() || `HTTP ${code}`, { code });
}
