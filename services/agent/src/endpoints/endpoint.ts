/** A request that has been authorized. */
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

/** Answers requests; StatusError for what is refused. */
export type NodeEndpoints = (request: EndpointRequest) => Promise<EndpointReply>;
