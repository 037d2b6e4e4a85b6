/** An authorised request. */
export interface EndpointRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly signal: AbortSignal;
}

export interface EndpointReply {
  readonly code: number;
  readonly contentType: string;
  readonly body: string | AsyncIterable<Uint8Array>;
}

/** Handles requests. StatusError for a refused one. */
export type NodeEndpoints = (request: EndpointRequest) => Promise<EndpointReply>;
