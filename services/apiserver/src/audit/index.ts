/** The audit log: the policy that selects requests, the events of requests, and the log file. */
export {
  type AuditedExchange,
  type AuditTrail,
  createAuditTrail,
  NOT_AUDITED,
  type RequestAudit,
  UNLOGGED,
} from './audit-trail.ts';
export { createLogFile } from './log-file.ts';
export { parseAuditPolicy } from './parse-policy.ts';
export type { AuditedRequest, AuditPolicy } from './policy.ts';
