import type { AuditedExchange, AuditedRequest } from '../audit/index.ts';
import type { User } from '../auth/user.ts';
import type { Exchange } from '../http/exchange.ts';

/** One request whose sender is known. */
export interface AuthenticatedExchange extends Exchange {
  readonly user: User;
  /** What it asks for, as flow control and the audit log name it. */
  readonly attributes: AuditedRequest;
  readonly audit: AuditedExchange;
  /** Called by a request that lasts when it has begun: gives back its seats of flow control. */
  readonly begun: () => void;
}
