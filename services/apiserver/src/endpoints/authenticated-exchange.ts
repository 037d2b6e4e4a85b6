import type { AuditedExchange, AuditedRequest } from '../audit/index.ts';
import type { User } from '../auth/user.ts';
import type { Exchange } from '../http/exchange.ts';

/** One request with its authenticated user. */
export interface AuthenticatedExchange extends Exchange {
  readonly user: User;
  /** The attributes of the request for flow control and the audit log. */
  readonly attributes: AuditedRequest;
  readonly audit: AuditedExchange;
  /** Called by a long-running request when it has started. Releases its seats of flow control. */
  readonly begun: () => void;
}
