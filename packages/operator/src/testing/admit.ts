import { applyJsonPatch, type JsonPatchOperation } from '@gantry/apimachinery';
import { cloneJson, type KubeObject } from '@gantry/objects';
import type { AdmissionWebhook, RequestUser } from '../index.ts';

/** A write for `admit`. */
export interface AdmittedWrite {
  readonly operation: 'CREATE' | 'UPDATE' | 'DELETE';
  readonly object?: KubeObject;
  /** The stored object, for `UPDATE` and `DELETE`. */
  readonly old?: KubeObject;
  readonly user?: RequestUser;
}

/** What a webhook decided. */
export interface Admitted {
  /** Why the write is refused; absent when it is allowed. */
  readonly denied?: string;
  readonly warnings: readonly string[];
  /** The object as it would be stored; absent for `DELETE`. */
  readonly object?: KubeObject;
}

/** Thrown for a mutating webhook that changes its own result: the API server may call it more than once. */
export class NotIdempotentError extends Error {
  override readonly name = 'NotIdempotentError';
}

/**
 * Asks a webhook about a write as the API server does, and applies its patch. Rejects with the webhook's own error, and with
 * NotIdempotentError.
 *
 * @example
 * ```ts
 * const { denied } = await admit(onlyMore, { operation: 'UPDATE', old: backup(3), object: backup(1) });
 * expect(denied).toBe('spec.keep: must not become less');
 * ```
 */
export async function admit(webhook: AdmissionWebhook, write: AdmittedWrite): Promise<Admitted> {
  const { allowed, status, warnings = [], object } = await ask(webhook, write);
  if (!allowed) return { denied: status?.message ?? '', warnings };
  if (object === undefined) return { warnings };
  if (webhook.type === 'mutating' && (await ask(webhook, { ...write, object })).patch !== undefined)
    throw new NotIdempotentError(`${webhook.name} is not idempotent: it changes its own result`);
  return { warnings, object };
}

async function ask(webhook: AdmissionWebhook, { operation, object, old, user = {} }: AdmittedWrite) {
  const { namespace, name } = (object ?? old)?.metadata ?? {};
  const request = {
    operation,
    userInfo: user,
    ...(namespace === undefined ? {} : { namespace }),
    ...(name === undefined ? {} : { name }),
    object: object === undefined ? null : cloneJson(object),
    oldObject: old === undefined ? null : cloneJson(old),
  };
  const response = await webhook.review(request, new AbortController().signal);
  if (object === undefined || response.patch === undefined)
    return { ...response, ...(object === undefined ? {} : { object }) };
  const operations = JSON.parse(Buffer.from(response.patch, 'base64').toString()) as readonly JsonPatchOperation[];
  return { ...response, object: applyJsonPatch(cloneJson(object), operations) as KubeObject };
}
