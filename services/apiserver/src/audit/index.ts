/** The audit log: which requests are logged by the policy, their events, and the file that they are written to. */
export {
  type AuditedExchange,
  type AuditTrail,
  createAuditTrail,
  NOT_AUDITED,
  type ReceivedRequest,
  type RequestAudit,
  UNLOGGED,
} from './audit-trail.ts';
export { createLogFile, type LogFile } from './log-file.ts';
export { parseAuditPolicy } from './parse-policy.ts';
export type { AuditedRequest, AuditPolicy } from './policy.ts';
