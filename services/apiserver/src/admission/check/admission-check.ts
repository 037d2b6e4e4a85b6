import type { InTurns } from '@gantry/base';
import type { ResourceDefinition } from '@gantry/apimachinery';
import type { JsonObject, KubeObject, ResourceRef } from '@gantry/objects';
import type { AccessDecider } from '../../auth/authz/authorizer.ts';
import type { User } from '../../auth/user.ts';

export interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** An operation on an object, before it happens. `object` is a copy for this request, which `mutate` may change. */
export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete' | 'connect';
  readonly definition: ResourceDefinition;
  /** The kind of `object`: the definition's own, or that of a subresource (Scale, Binding, Eviction). */
  readonly kind: GroupVersionKind;
  readonly namespace: string;
  /** '' for a create with a generated name. */
  readonly name: string;
  readonly subresource: string;
  /** The new object. For a delete, the stored object. */
  readonly object: KubeObject;
  /** The stored object, for updates and deletes. */
  readonly old: KubeObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as webhooks and expressions see them; null for a stream. */
  readonly options: JsonObject | null;
  readonly signal: AbortSignal;
  /** Runs a computation in steps, so that a long one does not block the event loop. */
  readonly compute: <T>(work: InTurns<T>) => Promise<T>;
  /** Adds a text for a `Warning: 299` header. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the audit events of the request. With the level 'Request', only if the policy logs at least that level. */
  readonly annotate: (key: string, value: string, level?: 'Metadata' | 'Request') => void;
  readonly reinvocation: Reinvocation;
  /** Keys that must have the given version when the object is stored. Checks add to this list. */
  readonly conditions: Condition[];
  /** The charges of this attempt and of earlier ones, by uid of the quota. Checks add to this map. */
  readonly charged: Map<string, Charge>;
}

/** A key in the store and the version that it must have when the object is stored. */
export interface Condition {
  readonly key: string;
  readonly resourceVersion: number | 'absent';
}

/** The amounts that a quota was charged. The charge is valid while the condition holds. */
export interface Charge {
  readonly amounts: Readonly<Record<string, string>>;
  readonly condition: Condition;
}

/** Shared state of the mutating checks of one request, for reinvocation. */
export class Reinvocation {
  /** Whether this is the second invocation. */
  again = false;
  /** Whether a check has changed the object after other checks had seen it, so that the checks are invoked again. */
  needed = false;
  readonly #notes = new Map<string, unknown>();

  /** The note of a check, which it keeps between the invocations. `initial` creates it. */
  note<T>(check: string, initial: () => T): T {
    if (!this.#notes.has(check)) this.#notes.set(check, initial());
    return this.#notes.get(check) as T;
  }
}

/** Decides whether a user may do something. */
export type Access = Pick<AccessDecider, 'decide' | 'decidePath'>;

/** The resources that are served now. */
export interface ServedResources {
  readonly definitions: readonly ResourceDefinition[];
  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined;
}

/** The lookups that checks may do. */
export interface AdmissionReader {
  readonly served: ServedResources;
  /** The object from the cache; from the store if the cache does not have it. */
  find<T extends KubeObject = KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
  /** The object as it is in the store now. */
  findFresh<T extends KubeObject = KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
  /** The cached objects of a resource in a namespace ('' for all). They include at least the writes of this process. */
  list<T extends KubeObject = KubeObject>(resource: ResourceRef, namespace: string): Promise<readonly T[]>;
}

/**
 * One admission check. `mutate` runs before the strategy of the kind prepares the object, and must be idempotent. `validate` runs after
 * the validation of the kind. Both throw a StatusError to reject the request.
 *
 * @example
 * const ownerLabel: AdmissionCheck = {
 *   name: 'OwnerLabel',
 *   validate: (request) => {
 *     if (request.operation !== 'create' || !isCore(request, 'configmaps')) return;
 *     if (request.object.metadata.labels?.['owner'] === undefined)
 *       throw refuse(request, 'the label owner is missing');
 *   },
 * };
 */
export interface AdmissionCheck {
  readonly name: string;
  readonly mutate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
  readonly validate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
}

/** Whether the target is the given resource of the core group, or the given subresource of it. */
export function isCore(request: AdmissionRequest, resource: string, subresource = ''): boolean {
  const { group, resource: found } = request.definition;
  return group === '' && found === resource && request.subresource === subresource;
}

/** Replaces all fields of `object` by those of `content`. */
export function replaceContent(object: KubeObject, content: KubeObject): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(content, key)) Reflect.deleteProperty(object, key);
  Object.assign(object, content);
}
