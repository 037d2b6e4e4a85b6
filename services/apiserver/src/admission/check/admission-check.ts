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

/** What is about to happen to an object. `object` is the request's own copy: `mutate` may change it. */
export interface AdmissionRequest {
  readonly operation: 'create' | 'update' | 'delete' | 'connect';
  readonly definition: ResourceDefinition;
  /** The kind of `object`: the definition's own, or that of a subresource (Scale, Binding, Eviction). */
  readonly kind: GroupVersionKind;
  readonly namespace: string;
  /** '' for a create whose name is generated. */
  readonly name: string;
  readonly subresource: string;
  /** The new object; what is stored for a delete. */
  readonly object: KubeObject;
  /** What is stored, for updates and deletions. */
  readonly old: KubeObject | undefined;
  readonly user: User;
  readonly dryRun: boolean;
  /** CreateOptions, UpdateOptions, PatchOptions or DeleteOptions, as webhooks and expressions see them; null for a stream. */
  readonly options: JsonObject | null;
  readonly signal: AbortSignal;
  /** Computes, with other work in between when it takes long. */
  readonly compute: <T>(work: InTurns<T>) => Promise<T>;
  /** Adds a text for a `Warning: 299` header. */
  readonly warn: (text: string) => void;
  /** Adds an annotation to the request's events in the audit log, or to those of a level that has bodies. */
  readonly annotate: (key: string, value: string, level?: 'Metadata' | 'Request') => void;
  readonly reinvocation: Reinvocation;
  /** Keys in the store that must be as they were read when the object is stored. Checks add to them. */
  readonly conditions: Condition[];
  /** What this attempt and those before it have charged to quotas, by the quota's uid. Checks add to it. */
  readonly charged: Map<string, Charge>;
}

/** A key in the store and the version that it must have when the object is stored. */
export interface Condition {
  readonly key: string;
  readonly resourceVersion: number | 'absent';
}

/** What a quota was charged, which holds while the condition is met. */
export interface Charge {
  readonly amounts: Readonly<Record<string, string>>;
  readonly condition: Condition;
}

/** What the mutating checks of one request tell each other when they are asked a second time. */
export class Reinvocation {
  /** Whether this is the second time. */
  again = false;
  /** Whether a check has changed what others had seen before, so that all are asked again. */
  needed = false;
  readonly #notes = new Map<string, unknown>();

  /** What a check noted of the first time. */
  note<T>(check: string, initial: () => T): T {
    if (!this.#notes.has(check)) this.#notes.set(check, initial());
    return this.#notes.get(check) as T;
  }
}

/** Tells who may do what. */
export type Access = Pick<AccessDecider, 'decide' | 'decidePath'>;

/** The resources that are served now. */
export interface ServedResources {
  readonly definitions: readonly ResourceDefinition[];
  findKind(group: string, version: string, kind: string): ResourceDefinition | undefined;
}

/** What checks may look up. */
export interface AdmissionReader {
  readonly served: ServedResources;
  /** The object as it is known: from the cache, and when it is not there from the store itself. */
  find<T extends KubeObject = KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
  /** The object as the store has it now, whatever was found before. */
  findFresh<T extends KubeObject = KubeObject>(
    resource: ResourceRef,
    namespace: string,
    name: string,
  ): Promise<T | undefined>;
  /** Objects of a resource in a namespace ('' for all), as far as this process knows them: its own writes at least. */
  list<T extends KubeObject = KubeObject>(resource: ResourceRef, namespace: string): Promise<readonly T[]>;
}

/**
 * One rule on requests beyond an object's own validity. `mutate` runs before the kind's own preparation and must be
 * idempotent; `validate` runs after the kind's own validation. Both refuse by throwing StatusError.
 */
export interface AdmissionCheck {
  readonly name: string;
  readonly mutate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
  readonly validate?: (request: AdmissionRequest, reader: AdmissionReader) => Promise<void> | void;
}

/** Whether the request is about a resource of the core group itself, or the part of it that is named. */
export function isCore(request: AdmissionRequest, resource: string, subresource = ''): boolean {
  const { group, resource: found } = request.definition;
  return group === '' && found === resource && request.subresource === subresource;
}

/** Puts what `content` says in the place of what `object` said. */
export function replaceContent(object: KubeObject, content: KubeObject): void {
  for (const key of Object.keys(object)) if (!Object.hasOwn(content, key)) Reflect.deleteProperty(object, key);
  Object.assign(object, content);
}
