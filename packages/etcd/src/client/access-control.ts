import type { DescMessage, DescMethodUnary, MessageInitShape } from '@bufbuild/protobuf';
import { EtcdError } from '../etcd-error.ts';
import { Permission_Type } from '../gen/auth_pb.ts';
import { Auth } from '../gen/rpc_pb.ts';
import type { AccessControl, AccessRule, CallOptions } from '../ports.ts';
import type { MemberSet } from './member-set.ts';

const { Read: read, Write: write, Readwrite: readwrite } = Permission_Type;
const PERMISSIONS = { read, write, readwrite };

/**
 * Manages etcd's users. User names are common names of client certificates; users have no password. Each user has a role of the same name.
 * Once authentication is enabled, only `root` may make these calls. Repeated calls change nothing.
 */
export function createAccessControl(members: MemberSet): AccessControl {
  const { roleAdd, userAdd, userGrantRole, roleGrantPermission, authEnable } = Auth.method;
  const call = async <I extends DescMessage>(
    method: DescMethodUnary<I, DescMessage>,
    payload: MessageInitShape<I>,
    options: CallOptions,
  ): Promise<void> => {
    try {
      await members.write(method, payload, options);
    } catch (error) {
      if (!isDone(error)) throw error;
    }
  };

  const ensureUser = async (user: string, options: CallOptions): Promise<void> => {
    await call(roleAdd, { name: user }, options);
    await call(userAdd, { name: user, options: { noPassword: true } }, options);
    await call(userGrantRole, { user, role: user }, options);
  };

  const ensureRule = async (rule: AccessRule, options: CallOptions): Promise<void> => {
    await ensureUser(rule.user, options);
    for (const { access, key, rangeEnd } of rule.permissions) {
      const perm = { permType: PERMISSIONS[access], key: Buffer.from(key), rangeEnd: Buffer.from(rangeEnd ?? '') };
      await call(roleGrantPermission, { name: rule.user, perm }, options);
    }
  };

  return {
    async ensure(rules, options) {
      await ensureUser('root', options);
      for (const rule of rules) await ensureRule(rule, options);
      await call(authEnable, {}, options);
    },
  };
}

/** Whether the error shows that the change has been made already. */
function isDone(error: unknown): boolean {
  return (
    error instanceof EtcdError &&
    /role name already exists|user name already exists|role is already granted|authentication is already enabled/.test(
      error.message,
    )
  );
}
