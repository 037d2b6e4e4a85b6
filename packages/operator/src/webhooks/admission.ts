import { equalJson, type KubeObject, type Resource, StatusError } from '@gantry/objects';
import { OptionsError } from '../options-error.ts';

/** Who writes, as the API server has authenticated it. */
export interface RequestUser {
  readonly username?: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
}

interface Asked {
  readonly user: RequestUser;
  readonly namespace: string | undefined;
  /** Absent for a create by `generateName`. */
  readonly name: string | undefined;
  readonly dryRun: boolean;
}

/** A write that a webhook decides about, before it is stored. */
export type AdmissionRequest<T extends KubeObject> = Asked &
  (
    | { readonly operation: 'CREATE'; readonly object: T }
    | { readonly operation: 'UPDATE'; readonly object: T; readonly old: T }
    | { readonly operation: 'DELETE'; readonly old: T }
  );

/** A write that may be changed. */
export type MutableRequest<T extends KubeObject> = Exclude<AdmissionRequest<T>, { readonly operation: 'DELETE' }>;

/** What a validating webhook decides. `{}` allows the write. */
export interface Verdict {
  /** Why the write is refused, for the user. */
  readonly denied?: string;
  /** Shown by kubectl; the write goes on. */
  readonly warnings?: readonly string[];
}

interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
    readonly values?: readonly string[];
  }[];
}

/** Which writes a webhook is asked about. */
export interface WebhookRule<T extends KubeObject> {
  /** A DNS name with at least three labels, such as `validate.backups.example.com`. */
  readonly name: string;
  readonly for: Resource<T>;
  /** Such as `status`; the objects themselves when absent. */
  readonly subresource?: string;
  /** What happens to writes while the webhook does not respond; `Fail` when absent. */
  readonly failurePolicy?: 'Fail' | 'Ignore';
  /** 10 when absent, at most 30. */
  readonly timeoutSeconds?: number;
  readonly namespaceSelector?: LabelSelector;
  readonly objectSelector?: LabelSelector;
  /** In CEL; the webhook is asked when all are true. */
  readonly matchConditions?: readonly { readonly name: string; readonly expression: string }[];
}

/** A webhook that allows or refuses writes. */
export interface Validating<T extends KubeObject> extends WebhookRule<T> {
  /** `CREATE` and `UPDATE` when absent. */
  readonly operations?: readonly ('CREATE' | 'UPDATE' | 'DELETE')[];
  /** The signal is aborted when the API server no longer waits. An error counts as no response: see `failurePolicy`. */
  readonly validate: (request: AdmissionRequest<T>, signal: AbortSignal) => Verdict | Promise<Verdict>;
}

/** A webhook that changes objects before they are validated and stored. */
export interface Mutating<T extends KubeObject> extends WebhookRule<T> {
  /** `CREATE` and `UPDATE` when absent. */
  readonly operations?: readonly ('CREATE' | 'UPDATE')[];
  /** Returns the object as it should be. It must be idempotent: it is called again when a later webhook changes the object. */
  readonly mutate: (request: MutableRequest<T>, signal: AbortSignal) => T | Promise<T>;
}

/** The response to an AdmissionReview, without its uid. */
export interface AdmissionResponse {
  readonly allowed: boolean;
  readonly status?: { readonly code: number; readonly reason: string; readonly message: string };
  readonly warnings?: readonly string[];
  readonly patchType?: 'JSONPatch';
  /** A JSON patch in base64. */
  readonly patch?: string;
}

/** The request of an AdmissionReview. */
export interface ReviewedRequest {
  readonly operation: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly userInfo?: RequestUser;
  readonly object?: unknown;
  readonly oldObject?: unknown;
  readonly dryRun?: boolean;
}

/** A webhook of an operator; `validating` and `mutating` make one. */
export interface AdmissionWebhook {
  readonly type: 'validating' | 'mutating';
  readonly name: string;
  /** Its entry of a webhook configuration, without `clientConfig`. */
  readonly entry: object;
  /** Decides about the request of an AdmissionReview. Rejects with StatusError BadRequest for one that it is not for. */
  readonly review: (request: ReviewedRequest, signal: AbortSignal) => Promise<AdmissionResponse>;
}

const MAX_TIMEOUT_SECONDS = 30;
const WRITES = ['CREATE', 'UPDATE'] as const;

/**
 * A webhook that allows or refuses writes. Its function is called by the API server before a write is stored, so it must be fast and must not
 * write. Throws OptionsError, which names the field.
 *
 * @example
 * ```ts
 * const onlyMore = validating({
 *   name: 'keep.backups.example.com',
 *   for: BACKUPS,
 *   operations: ['UPDATE'],
 *   validate: (request) =>
 *     request.operation === 'UPDATE' && request.object.spec.keep < request.old.spec.keep
 *       ? { denied: 'spec.keep: must not become less' }
 *       : {},
 * });
 * ```
 */
export function validating<T extends KubeObject>(webhook: Validating<T>): AdmissionWebhook {
  const { name, operations = WRITES, validate } = webhook;
  return {
    type: 'validating',
    name,
    entry: entryOf(webhook, operations),
    review: async (reviewed, signal) => {
      const { denied, warnings = [] } = await validate(requestOf<T>(name, reviewed), signal);
      const shown = warnings.length === 0 ? {} : { warnings };
      if (denied === undefined) return { allowed: true, ...shown };
      return { allowed: false, status: { code: 403, reason: 'Forbidden', message: denied }, ...shown };
    },
  };
}

/**
 * A webhook that changes objects before they are validated and stored. Throws OptionsError, which names the field.
 *
 * @example
 * ```ts
 * const owner = mutating({
 *   name: 'owner.backups.example.com',
 *   for: BACKUPS,
 *   operations: ['CREATE'],
 *   mutate: ({ object, user }) => {
 *     const annotations = { 'example.com/owner': user.username ?? '', ...object.metadata.annotations };
 *     return { ...object, metadata: { ...object.metadata, annotations } };
 *   },
 * });
 * ```
 */
export function mutating<T extends KubeObject>(webhook: Mutating<T>): AdmissionWebhook {
  const { name, operations = WRITES, mutate } = webhook;
  return {
    type: 'mutating',
    name,
    entry: { ...entryOf(webhook, operations), reinvocationPolicy: 'IfNeeded' },
    review: async (reviewed, signal) => {
      const request = requestOf<T>(name, reviewed);
      if (request.operation === 'DELETE') throw StatusError.badRequest(`${name} is not for DELETE`);
      // A function that changes its argument would otherwise be compared with itself.
      const before: unknown = structuredClone(request.object);
      const patch = jsonPatch(before, await mutate(request, signal));
      if (patch.length === 0) return { allowed: true };
      return { allowed: true, patchType: 'JSONPatch', patch: Buffer.from(JSON.stringify(patch)).toString('base64') };
    },
  };
}

function entryOf<T extends KubeObject>(rule: WebhookRule<T>, operations: readonly string[]): object {
  const { name, for: of, subresource, failurePolicy = 'Fail', timeoutSeconds = 10 } = rule;
  if (!/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?){2,}$/.test(name) || name.length > 253) {
    throw new OptionsError(`name: ${JSON.stringify(name)} must be a DNS name with at least three labels`);
  }
  if (!(Number.isInteger(timeoutSeconds) && timeoutSeconds >= 1 && timeoutSeconds <= MAX_TIMEOUT_SECONDS)) {
    throw new OptionsError(`${name}: timeoutSeconds: must be an integer from 1 to ${MAX_TIMEOUT_SECONDS}`);
  }
  if (operations.length === 0) throw new OptionsError(`${name}: operations: there is none`);
  const { namespaceSelector, objectSelector, matchConditions } = rule;
  const resources = [subresource === undefined ? of.resource : `${of.resource}/${subresource}`];
  const scope = of.namespaced ? 'Namespaced' : 'Cluster';
  return {
    name,
    rules: [{ operations, apiGroups: [of.group], apiVersions: [of.version], resources, scope }],
    // Objects written in another version are converted to the one of `for`.
    matchPolicy: 'Equivalent',
    failurePolicy,
    timeoutSeconds,
    sideEffects: 'None',
    admissionReviewVersions: ['v1'],
    ...(namespaceSelector === undefined ? {} : { namespaceSelector }),
    ...(objectSelector === undefined ? {} : { objectSelector }),
    ...(matchConditions === undefined ? {} : { matchConditions }),
  };
}

function requestOf<T extends KubeObject>(webhook: string, reviewed: ReviewedRequest): AdmissionRequest<T> {
  const { operation, userInfo = {}, namespace, name, dryRun = false } = reviewed;
  const asked: Asked = { user: userInfo, namespace, name: name === '' ? undefined : name, dryRun };
  const read = (field: 'object' | 'oldObject'): T => {
    const value = reviewed[field];
    if (typeof value === 'object' && value !== null && 'metadata' in value) return value as T;
    throw StatusError.badRequest(`${webhook}: request.${field}: is no object`);
  };
  switch (operation) {
    case 'CREATE':
      return { ...asked, operation, object: read('object') };
    case 'UPDATE':
      return { ...asked, operation, object: read('object'), old: read('oldObject') };
    case 'DELETE':
      return { ...asked, operation, old: read('oldObject') };
    default:
      throw StatusError.badRequest(`${webhook}: request.operation: ${JSON.stringify(operation)} is not supported`);
  }
}

/** One operation of RFC 6902. */
interface PatchOperation {
  readonly op: 'add' | 'replace' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/** The JSON patch (RFC 6902) that makes `after` of `before`. Lists are replaced as a whole. */
function jsonPatch(before: unknown, after: unknown, path = ''): readonly PatchOperation[] {
  if (!isRecord(before) || !isRecord(after)) {
    return equalJson(before, after) ? [] : [{ op: 'replace', path, value: after }];
  }
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((name): readonly PatchOperation[] => {
    const at = `${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    const [old, value] = [before[name], after[name]];
    if (old === undefined) return value === undefined ? [] : [{ op: 'add', path: at, value }];
    return value === undefined ? [{ op: 'remove', path: at }] : jsonPatch(old, value, at);
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
