import { EtcdError } from '../etcd-error.ts';
import type { AccessControl, AccessRule, CallOptions } from '../ports.ts';
import type { MemberSet } from './member-set.ts';

const PERMISSIONS = { read: 'Read', write: 'Write', readwrite: 'Readwrite' } as const;

/**
 * Users are common names of client certificates and have no password. A role has the name of its user. Once authentication
 * is on, only `root` may make these calls, and repeating them changes nothing.
 */
export function createAccessControl(members: MemberSet): AccessControl {
  const call = async (method: string, payload: object, options: CallOptions): Promise<void> => {
    try {
      await members.write({ service: 'Auth', method, payload }, options);
    } catch (error) {
      if (!isDone(error)) throw error;
    }
  };

  const ensureUser = async (user: string, options: CallOptions): Promise<void> => {
    await call('roleAdd', { name: user }, options);
    await call('userAdd', { name: user, options: { no_password: true } }, options);
    await call('userGrantRole', { user, role: user }, options);
  };

  const ensureRule = async (rule: AccessRule, options: CallOptions): Promise<void> => {
    await ensureUser(rule.user, options);
    for (const { access, key, rangeEnd } of rule.permissions) {
      const range = rangeEnd === undefined ? {} : { range_end: Buffer.from(rangeEnd) };
      const perm = { permType: PERMISSIONS[access], key: Buffer.from(key), ...range };
      await call('roleGrantPermission', { name: rule.user, perm }, options);
    }
  };

  return {
    async ensure(rules, options) {
      await ensureUser('root', options);
      for (const rule of rules) await ensureRule(rule, options);
      await call('authEnable', {}, options);
    },
  };
}

/** Whether an error means that an earlier call has made the same change. */
function isDone(error: unknown): boolean {
  return (
    error instanceof EtcdError &&
    /role name already exists|user name already exists|role is already granted|authentication is already enabled/.test(
      error.message,
    )
  );
}
