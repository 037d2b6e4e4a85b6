import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { issueServerIdentity, reachableAddress } from './test-pki.ts';

type Json = Readonly<Record<string, unknown>>;

/** Keeps idle connections: a call at the moment of closing one would fail. */
export const KEEP_ALIVE_MS = 600_000;

/** What a path answers a posted document with; `undefined` leaves the caller waiting. */
export type Handler = (document: Json) => Json | undefined | Promise<Json | undefined>;

/** An HTTPS server of the test's, outside the cluster, that the API servers can call. Dispose of it to end it. */
export interface WebhookServer extends AsyncDisposable {
  /** In base64, as webhook configurations hold it. */
  readonly caBundle: string;
  readonly url: (path: string) => string;
}

export async function startWebhookServer(handlers: Readonly<Record<string, Handler>>): Promise<WebhookServer> {
  const { ca, cert, key } = await issueServerIdentity();
  const server = createServer({ cert, key, keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => {
    const path = new URL(request.url ?? '/', 'https://server').pathname;
    const handler = handlers[path];
    if (handler === undefined) {
      response.writeHead(404).end();
      return;
    }
    void requestBody(request)
      .then((text) => handler(JSON.parse(text) as Json))
      .then((answer) => {
        if (answer === undefined) return;
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
      })
      .catch((error: unknown) => response.writeHead(500).end(String(error)));
  });
  await new Promise<void>((done) => server.listen(0, done));
  const { port } = server.address() as AddressInfo;
  return {
    caBundle: Buffer.from(ca).toString('base64'),
    url: (path) => `https://${reachableAddress()}:${port}${path}`,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((done) => server.close(() => done()));
      server.closeAllConnections();
      await closed;
    },
  };
}

export async function requestBody(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) text += chunk as string;
  return text;
}

/** The request inside an AdmissionReview. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly object: { readonly metadata?: { readonly labels?: Readonly<Record<string, string>> } } & Json;
  readonly oldObject?: Json;
}

/** Refuses with the message, or lets pass when there is none. */
export function judging(judge: (request: AdmissionRequest) => string | undefined): Handler {
  return (review) => {
    const request = review['request'] as AdmissionRequest;
    const message = judge(request);
    const verdict =
      message === undefined ? { allowed: true } : { allowed: false, status: { message, reason: message } };
    return answerTo(review, { uid: request.uid, ...verdict });
  };
}

/** Lets pass with the operations of a JSON patch. */
export function patching(patch: (request: AdmissionRequest) => readonly object[]): Handler {
  return (review) => {
    const request = review['request'] as AdmissionRequest;
    const operations = patch(request);
    const change =
      operations.length === 0
        ? {}
        : { patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(operations)).toString('base64') };
    return answerTo(review, { uid: request.uid, allowed: true, ...change });
  };
}

function answerTo(review: Json, response: Json): Json {
  return { apiVersion: review['apiVersion'], kind: 'AdmissionReview', response };
}
