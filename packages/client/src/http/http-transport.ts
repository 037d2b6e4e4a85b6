import { type Agent as HttpAgent, type IncomingMessage, request as httpRequest } from 'node:http';
import { type Agent, request as httpsRequest, type RequestOptions } from 'node:https';
import { createSecureContext } from 'node:tls';
import {
  type CancelTimer,
  type Clock,
  DeadlineError,
  must,
  raceAbort,
  setPatientTimer,
  withDeadline,
} from '@gantry/base';
import { type Status, StatusError, type StatusReason } from '@gantry/objects';
import { createHttpsAgent, onUnaskedSwitch, type TlsMaterial, type TlsSource } from '@gantry/tls';
import type { HttpTarget } from './kubeconfig.ts';

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, as in `/api/v1/pods?limit=1`. */
  readonly path: string;
  readonly body?: Uint8Array | string;
  readonly contentType?: string;
  readonly accept?: string;
  /** Further headers. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** The connections and credentials of one request. */
export interface Dialled {
  readonly agent: HttpAgent;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  /** User and password, as `user:password`. */
  readonly auth?: string;
}

/** What a client learns of each exchange; `code` is the response's code, or `<error>` without a response. */
export interface ExchangeReport {
  readonly method: string;
  readonly host: string;
  readonly code: number | '<error>';
}

/** How a client connects where a library manages the credentials, and who learns of its exchanges. */
export interface Dialling {
  /** Called before each request; replaces the credentials of the target. An error means that the request was not sent. */
  readonly dial?: () => Dialled | Promise<Dialled>;
  readonly onExchange?: (report: ExchangeReport) => void;
}

/** A request failed without a response: it was not sent, or its outcome is unknown. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  readonly sent: 'no' | 'perhaps';

  constructor(sent: ConnectionError['sent'], cause: Error) {
    super(cause.message, { cause });
    this.sent = sent;
  }
}

/**
 * Milliseconds in which this process runs for one attempt to connect, with its TLS handshake. While the network drops packets, the kernel
 * waits up to a minute before it sends its first packet again, also when the network works again: a new attempt sends one at once.
 */
const CONNECT_MS = 4000;

/** Milliseconds for the credentials of one request. */
const DIAL_MS = 60_000;

/** An attempt to connect took too long. Another one may succeed at once. */
class ConnectTimeoutError extends Error {
  override readonly name = 'ConnectTimeoutError';
}

/** Limits of a request in milliseconds; no limit when absent. */
export interface Limits {
  /** Until the head of the response. After that, the request fails like one with a lost connection. */
  readonly headMs?: number | undefined;
  /** Until the whole response has been read. */
  readonly deadlineMs?: number | undefined;
}

interface Exchange {
  readonly response: IncomingMessage;
  /** Returns what to throw when reading the response fails: the signal's reason, DeadlineError, or ConnectionError. */
  readonly failure: (error: Error) => unknown;
}

/** Requests to one API server over kept-alive connections: HTTPS, and plain HTTP where `dial` gives the connections. */
export class HttpTransport implements Disposable {
  readonly #target: HttpTarget;
  readonly #server: Pick<RequestOptions, 'hostname' | 'port'>;
  readonly #basePath: string;
  readonly #userAgent: string;
  readonly #clock: Clock;
  readonly #unsubscribe: () => void;
  readonly #maxBytes: number;
  readonly #dialling: Dialling;
  readonly #request: typeof httpRequest;
  /** Undefined where `dial` gives the connections. */
  #agent: Agent | undefined;

  constructor(
    target: HttpTarget & Dialling & { readonly tls?: TlsSource; readonly maxResponseBytes?: number },
    userAgent: string,
    clock: Clock,
  ) {
    this.#clock = clock;
    this.#maxBytes = target.maxResponseBytes ?? Number.POSITIVE_INFINITY;
    this.#target = target;
    this.#dialling = target;
    const { hostname, port, pathname, protocol } = new URL(target.server);
    this.#request = protocol === 'http:' && target.dial !== undefined ? httpRequest : httpsRequest;
    // An IPv6 address has brackets only in a URL.
    this.#server = { hostname: hostname.replace(/^\[(.*)\]$/, '$1'), port };
    this.#basePath = pathname === '/' ? '' : pathname;
    this.#userAgent = userAgent;
    const { tls } = target;
    if (target.dial === undefined) this.#agent = agentFor(target, tls?.current() ?? target);
    const renew = (material: TlsMaterial): void => {
      // Running requests continue on the old connections; new requests use the new certificate.
      this.#agent = agentFor(target, material);
    };
    this.#unsubscribe = tls?.subscribe(renew) ?? (() => undefined);
  }

  /**
   * Resolves with the response's head; the caller reads the body. Rejects with the StatusError in the body for a code of 400 or more, with
   * ConnectionError when there is no response, and with the signal's reason when aborted.
   */
  async open(request: HttpRequest, signal: AbortSignal, limits: Limits = {}): Promise<IncomingMessage> {
    return (await this.#exchange(request, signal, limits)).response;
  }

  /** The whole response as text. Rejects as `open` does, and with StatusError for a response that is too large. */
  async text(request: HttpRequest, signal: AbortSignal, limits: Limits = {}): Promise<string> {
    const { response, failure } = await this.#exchange(request, signal, limits);
    return await readText(response, failure, this.#maxBytes);
  }

  [Symbol.dispose](): void {
    this.#unsubscribe();
    this.#agent?.destroy();
  }

  async #exchange(request: HttpRequest, signal: AbortSignal, limits: Limits): Promise<Exchange> {
    signal.throwIfAborted();
    const dialled = await this.#dial(signal, limits);
    signal.throwIfAborted();
    const exchange = await this.#reported(request, dialled, signal, limits);
    const { response, failure } = exchange;
    const { statusCode = 500 } = response;
    if (statusCode >= 400) throw parseFailure(statusCode, await readText(response, failure, this.#maxBytes));
    return exchange;
  }

  /** The library may wait for a plugin that never ends, and cannot be stopped. */
  async #dial(signal: AbortSignal, { deadlineMs = DIAL_MS }: Limits): Promise<Dialled> {
    if (this.#dialling.dial === undefined) return { agent: must(this.#agent, 'an agent') };
    try {
      const dialled = this.#dialling.dial();
      // Most requests wait for no credentials, and a derived signal costs much.
      if (!(dialled instanceof Promise)) return dialled;
      using within = withDeadline(this.#clock, signal, Math.min(deadlineMs, DIAL_MS));
      return await raceAbort(dialled, within);
    } catch (error) {
      signal.throwIfAborted();
      throw new ConnectionError('no', error instanceof Error ? error : new TypeError(String(error)));
    }
  }

  async #reported(request: HttpRequest, dialled: Dialled, signal: AbortSignal, limits: Limits): Promise<Exchange> {
    const report = (code: ExchangeReport['code']): void =>
      this.#dialling.onExchange?.({ method: request.method, host: hostOf(this.#server), code });
    try {
      const exchange = await this.#send(request, dialled, signal, limits);
      report(exchange.response.statusCode ?? '<error>');
      return exchange;
    } catch (error) {
      report('<error>');
      throw error;
    }
  }

  /**
   * Sends a request. The signal and the limits apply until the response has been read. There are many requests, and one listener on the
   * signal costs much less than a derived signal per request.
   */
  #send(
    request: HttpRequest,
    { agent, headers, auth }: Dialled,
    signal: AbortSignal,
    { headMs, deadlineMs }: Limits,
  ): Promise<Exchange> {
    const { promise, resolve, reject } = Promise.withResolvers<Exchange>();
    let connected: ConnectionError['sent'] = 'no';
    let ended: ConnectionError | DeadlineError | undefined;
    const call = this.#request({
      ...this.#server,
      method: request.method,
      path: `${this.#basePath}${request.path}`,
      agent,
      auth,
      headers: { ...this.#headers(request), ...headers },
    });
    const failure = (error: Error): unknown =>
      signal.aborted ? signal.reason : (ended ?? new ConnectionError(connected, error));
    const abort = (): void => void call.destroy(signal.reason as Error);
    const endAfter = (ms: number | undefined, why: () => ConnectionError | DeadlineError): CancelTimer | undefined =>
      ms === undefined
        ? undefined
        : this.#clock.setTimer(ms, () => {
            ended = why();
            call.destroy(ended);
          });
    const noHead = () => new ConnectionError('perhaps', new DeadlineError(`no response within ${headMs} ms`));
    const cancels = [
      endAfter(headMs, noHead),
      endAfter(deadlineMs, () => new DeadlineError(`deadline of ${deadlineMs} ms exceeded`)),
    ];
    signal.addEventListener('abort', abort, { once: true });
    call.on('socket', (socket) => {
      if (!socket.connecting && call.reusedSocket) {
        connected = 'perhaps';
        return;
      }
      const giveUp = () => call.destroy(new ConnectTimeoutError(`no connection within ${CONNECT_MS} ms`));
      const cancel = setPatientTimer(this.#clock, CONNECT_MS, giveUp);
      socket.once('close', cancel);
      socket.once(this.#request === httpRequest ? 'connect' : 'secureConnect', () => {
        connected = 'perhaps';
        cancel();
      });
    });
    call.on('response', (response) => {
      cancels[0]?.();
      connected = 'perhaps';
      resolve({ response, failure });
    });
    call.on('close', () => {
      for (const cancel of cancels) cancel?.();
      signal.removeEventListener('abort', abort);
    });
    call.on('error', (error) => reject(failure(error)));
    onUnaskedSwitch(call, () => reject(failure(new TypeError('the server switched the protocol without being asked'))));
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
      ...request.headers,
      ...(this.#target.token === undefined ? {} : { authorization: `Bearer ${this.#target.token}` }),
    };
  }
}

function hostOf({ hostname, port }: Pick<RequestOptions, 'hostname' | 'port'>): string {
  return port === '' ? String(hostname) : `${hostname}:${port}`;
}

/**
 * Certificates and key are parsed once here. Otherwise Node's agent would parse them for each connection, and several times per request
 * look up free connections by a text that contains them.
 */
function agentFor({ serverName }: HttpTarget, { ca, cert, key }: Partial<TlsMaterial>): Agent {
  return createHttpsAgent({
    maxCachedSessions: 10,
    secureContext: createSecureContext({ ca, cert, key }),
    servername: serverName,
  });
}

function readText(response: IncomingMessage, failure: Exchange['failure'], maxBytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const chunks: Buffer[] = [];
  let size = 0;
  response.on('data', (chunk: Buffer) => {
    size += chunk.length;
    chunks.push(chunk);
    if (size <= maxBytes) return;
    reject(tooLarge('response', maxBytes));
    response.destroy();
  });
  response.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  response.on('error', (error) => reject(failure(error)));
  return promise;
}

/** The error of a response, or of an event of a watch, that is larger than the client accepts. */
export function tooLarge(what: 'response' | 'event', maxBytes: number): StatusError {
  return new StatusError('RequestEntityTooLarge', `the server's ${what} has more than ${maxBytes} bytes`);
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

/** The StatusError of a failed response, whether its body is a Status or not. */
export function parseFailure(code: number, text: string): StatusError {
  try {
    const status = JSON.parse(text) as Status;
    if (status.kind === 'Status') return StatusError.fromStatus({ ...status, code });
  } catch {
    // Not JSON, such as a proxy's page or plain text. It becomes the message below.
  }
  return new StatusError(REASON_OF_CODE[code] ?? 'InternalError', text.trim() || `HTTP ${code}`, { code });
}
