import type { IncomingHttpHeaders } from 'node:http';
import { StatusError } from '@gantry/objects';

/** The part of a request that a guard sees. */
interface Asked {
  readonly headers: IncomingHttpHeaders;
}

/** What requests are sent for. A browser names others (`script`, `style`, `iframe`, `serviceworker`) when it runs or embeds the response. */
const DESTINATIONS: readonly unknown[] = [undefined, 'empty', 'websocket', 'document'];
const SAFE: readonly string[] = ['GET', 'HEAD'];

/** Whether the method changes nothing. */
export function isSafe(method: string): boolean {
  return SAFE.includes(method);
}

/**
 * The origin that a request is for, among the console's own ones. Undefined for a name of somebody else that leads here: by it, a page of
 * another site could read responses as its own (DNS rebinding).
 */
export function originFor(host: string | undefined, origins: readonly string[]): string | undefined {
  return origins.find((origin) => new URL(origin).host === host?.toLowerCase());
}

/**
 * Refuses requests that pages of other origins, also of other ports of the same host, make in a browser. Reads by a navigation pass. Throws
 * StatusError Forbidden.
 */
export function refuseForeign({ headers }: Asked, own: string): void {
  const { origin, 'sec-fetch-site': site } = headers;
  if (origin !== undefined && origin !== own) throw new StatusError('Forbidden', `Origin: ${origin} is not ${own}`);
  if (site !== undefined && site !== 'same-origin' && site !== 'none')
    throw new StatusError('Forbidden', `Sec-Fetch-Site: a request of ${String(site)} is not one of this page`);
}

/** Refuses requests by which a page would run or embed what the API server sends. Throws StatusError Forbidden. */
export function refuseEmbedding({ headers }: Asked): void {
  const destination = headers['sec-fetch-dest'];
  if (!DESTINATIONS.includes(destination))
    throw new StatusError(
      'Forbidden',
      `Sec-Fetch-Dest: responses of the API server are not for a ${String(destination)}`,
    );
}

/** Headers of every response. */
export const COMMON_HEADERS: Readonly<Record<string, string>> = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
};

/**
 * Responses of the API server, which include pages of pods: a browser that opens one shows it as a document without an origin, without
 * scripts, and without what it refers to.
 */
export const PASSED_ON_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'";

/** The policy of the page: everything comes from files of its own origin. Editor and terminal adopt their style sheets. */
export function pagePolicy(origin: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "font-src 'self'",
    `connect-src 'self' ${origin.replace(/^http/, 'ws')}`,
    "worker-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
