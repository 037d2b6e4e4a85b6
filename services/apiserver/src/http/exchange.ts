import type { IncomingMessage, ServerResponse } from 'node:http';

/** One request and its response. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  /** The decoded path without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborted when the client is gone, when a long-running request must end, or after the timeout of any other request. */
  readonly signal: AbortSignal;
  /** Texts for `Warning: 299` headers, in order and without duplicates. */
  readonly warnings: Set<string>;
  /** Called with the uncompressed body of a response. For a body in parts above `keptBytes`, called with its size only. */
  readonly onBody: (contentType: string, body: Uint8Array | { readonly size: number }) => void;
  /** Maximum size of a body in parts for `onBody`; 0 when `onBody` needs no bodies. */
  readonly keptBytes: () => number;
}

/** The first value of a request header. */
export function header(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** Splits a request target into its decoded path and its query; undefined when the path is not decodable. */
export function parseTarget(url: string): { path: string; query: URLSearchParams } | undefined {
  const mark = url.indexOf('?');
  const raw = mark < 0 ? url : url.slice(0, mark);
  try {
    return { path: decodeURIComponent(raw), query: new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1)) };
  } catch {
    // The path has a malformed escape, so it matches nothing.
    return undefined;
  }
}

/** Escapes a decoded path again, so that backends parse exactly the path that was authorised. */
export function encodePath(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}
