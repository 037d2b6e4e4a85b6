import type { IncomingMessage, ServerResponse } from 'node:http';

/** One request and its response. */
export interface Exchange {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborted when the client has gone, the server stops, or (but for watches, logs, streams and proxies) the time is up. */
  readonly signal: AbortSignal;
  /** Texts for `Warning: 299` headers, in order, each once. */
  readonly warnings: Set<string>;
  /** Called with the body of a response before it is compressed; with its size alone where it is sent in parts and above `keptBytes`. */
  readonly onBody: (contentType: string, body: Uint8Array | { readonly size: number }) => void;
  /** Up to which size `onBody` wants a body that is sent in parts; 0 when it wants none. */
  readonly keptBytes: () => number;
}

/** First value of a request header. */
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
    // A malformed escape: there is nothing behind such a path.
    return undefined;
  }
}

/** Escapes a decoded path anew, so that nobody reads another path out of it than the one that was authorised. */
export function encodePath(path: string): string {
  return encodeURI(path).replace(/[?#]/g, encodeURIComponent);
}
