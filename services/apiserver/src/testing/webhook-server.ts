import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { must } from '@gantry/base';
import { createTestPki } from './test-pki.ts';

/** The response of a webhook: fields of an AdmissionResponse, or a whole body with a status code. */
export type WebhookAnswer = { readonly allowed?: boolean; readonly raw?: string; readonly code?: number } & Record<
  string,
  unknown
>;

/** An AdmissionReview that a webhook receives. */
export interface Review {
  readonly request: Record<string, unknown> & { readonly uid: string; readonly operation: string };
}

/** Admission webhooks on 127.0.0.1. */
export interface WebhookServer {
  /** The received requests, oldest first. A test may empty the array. */
  readonly asked: { readonly path: string; readonly query: string; readonly review: Review }[];
  readonly port: number;
  readonly caBundle: string;
  /** An entry of a webhook configuration for the webhook at a path. It matches all writes of ConfigMaps unless `extra` changes that. */
  webhook(path: string, extra?: object): object;
  close(): void;
}

/** Starts a server with a webhook per path. Requests are allowed unless the response denies them. */
export async function startWebhooks(
  answers: Readonly<Record<string, (review: Review) => WebhookAnswer | Promise<WebhookAnswer>>>,
): Promise<WebhookServer> {
  const pki = await createTestPki(Date.now());
  const { cert, key } = await pki.issue('webhook', [], ['hook.n.svc']);
  const asked: { path: string; query: string; review: Review }[] = [];
  const server = createServer({ cert, key }, (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [path = '', query = ''] = (request.url ?? '').split('?');
      const review = JSON.parse(Buffer.concat(chunks).toString()) as Review;
      asked.push({ path, query, review });
      void Promise.resolve(must(answers[path], path)(review)).then(({ raw, code = 200, ...rest }) => {
        const answer = { uid: review.request.uid, allowed: true, ...rest };
        response.writeHead(code, { 'content-type': raw === undefined ? 'application/json' : 'text/plain' });
        const body = { kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1', response: answer };
        response.end(raw ?? JSON.stringify(body));
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const caBundle = Buffer.from(pki.ca).toString('base64');
  return {
    asked,
    port,
    caBundle,
    webhook: (path, extra = {}) => ({
      name: `${path.slice(1)}.example.org`,
      clientConfig: { url: `https://127.0.0.1:${port}${path}`, caBundle },
      rules: [{ operations: ['*'], apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'] }],
      admissionReviewVersions: ['v1'],
      sideEffects: 'None',
      ...extra,
    }),
    close: () => server.close(),
  };
}
