import type { ObjectMeta } from '@gantry/objects';

/** What the parts that serve a request say of it for the audit log. */
export interface RequestAudit {
  /** Adds an annotation to the request's events, or to those of a level that has bodies. The first value of a key stands. */
  annotate(key: string, value: string, level?: 'Metadata' | 'Request'): void;
  /** Notes a decision of authorisation. A refusal replaces what was allowed before. */
  decided(decision: 'allow' | 'forbid', reason: string): void;
  /** Names the object that the request writes: a create has no name in its path. */
  describe(metadata: Pick<ObjectMeta, 'name' | 'namespace' | 'uid' | 'resourceVersion'>): void;
}

/** For what the API server does by itself: parts of requests that are logged, and control loops. */
export const NOT_AUDITED: RequestAudit = {
  annotate: () => undefined,
  decided: () => undefined,
  describe: () => undefined,
};
