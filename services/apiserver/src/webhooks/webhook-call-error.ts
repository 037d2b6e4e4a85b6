import { parsePlainBody } from '@gantry/apimachinery';

/** The call of a webhook failed, or its response is invalid. The message is that of Kubernetes. */
export class WebhookCallError extends Error {
  override readonly name = 'WebhookCallError';
}

/** Maximum bytes of a body in a message. */
const MAX_SHOWN = 2048;

const MESSAGES: Readonly<Record<number, string>> = {
  400: 'the server rejected our request for an unknown reason',
  401: 'the server has asked for the client to provide credentials',
  404: 'the server could not find the requested resource',
  405: 'the server does not allow this method on the requested resource',
  409: 'the server reported a conflict',
  422: 'the server rejected our request due to an error in our request',
  429: 'the server has received too many requests and has asked us to try again later',
  503: 'the server is currently unable to handle the request',
  504: 'the server was unable to return a response in the time allotted, but may still be processing the request',
};

/** The error of an unsuccessful response. If the body is a Status, its message is used. */
export function responseError(code: number, contentType: string, body: Buffer): WebhookCallError {
  const told = statusMessage(body);
  if (told !== undefined) return new WebhookCallError(told);
  const isText = contentType.startsWith('text/');
  const shown = isText ? body.subarray(0, MAX_SHOWN).toString('utf8').trim() : 'unknown';
  const known = MESSAGES[code];
  if (known !== undefined) return new WebhookCallError(known);
  if (code === 403 || code === 415) return new WebhookCallError(shown);
  if (code === 406) {
    const silent = 'the server was unable to respond with a content type that the client supports';
    return new WebhookCallError(shown === 'unknown' || shown === '' ? silent : shown);
  }
  if (code >= 500) {
    return new WebhookCallError(
      `an error on the server (${JSON.stringify(shown)}) has prevented the request from succeeding`,
    );
  }
  return new WebhookCallError(`the server responded with the status code ${code} but did not return more information`);
}

function statusMessage(body: Buffer): string | undefined {
  try {
    const value = parsePlainBody(body, 'json');
    if (typeof value !== 'object' || value === null) return undefined;
    const { kind, status, message } = value as { kind?: unknown; status?: unknown; message?: unknown };
    return kind === 'Status' && status === 'Failure' && typeof message === 'string' ? message : undefined;
  } catch {
    // The body is no JSON, or too large for a Status, so the message contains the body itself.
    return undefined;
  }
}

/** The error of a failed connection. `address` is its target; `wanted` is the required name in the server's certificate. */
export function transportError(error: unknown, address: string, wanted: string): WebhookCallError {
  if (error instanceof WebhookCallError) return error;
  const { code = '', message = String(error) } = error as { code?: string; message?: string };
  return new WebhookCallError(transportText(code, message, address, wanted), { cause: error });
}

function transportText(code: string, message: string, address: string, wanted: string): string {
  const host = address.replace(/:\d+$/, '');
  const verify = 'tls: failed to verify certificate: x509: ';
  switch (code) {
    case 'ECONNREFUSED':
      return `dial tcp ${address}: connect: connection refused`;
    case 'EHOSTUNREACH':
      return `dial tcp ${address}: connect: no route to host`;
    case 'ENETUNREACH':
      return `dial tcp ${address}: connect: network is unreachable`;
    case 'ETIMEDOUT':
      return `dial tcp ${address}: connect: connection timed out`;
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `dial tcp: lookup ${host}: no such host`;
    case 'ECONNRESET':
      return 'EOF';
    case 'CERT_HAS_EXPIRED':
    case 'CERT_NOT_YET_VALID':
      return `${verify}certificate has expired or is not yet valid: ${message}`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `${verify}certificate is not valid for ${wanted}: ${message}`;
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'CERT_SIGNATURE_FAILURE':
      return `${verify}certificate signed by unknown authority`;
    default:
      return message.includes('wrong version number') ? 'http: server gave HTTP response to HTTPS client' : message;
  }
}
