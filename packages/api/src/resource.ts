import type { Instant } from '@gantry/base';
import type { FieldError } from './field-error.ts';
import type { KubeObject } from './object.ts';
import type { JsonSchema } from './custom/json-schema.ts';
import type { SchemaRef } from './schema/type-schema.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/** What a hook may know besides the objects. */
export interface StrategyContext {
  readonly now: Instant;
  /** The user name of the request, for fields that record who did it (CertificateSigningRequest). */
  readonly user: {
    readonly name: string;
    readonly uid: string;
    readonly groups: readonly string[];
    readonly extra: Readonly<Record<string, readonly string[]>>;
  };
  /** Tells the client, in a `Warning: 299` header. */
  readonly warn: (text: string) => void;
}

/**
 * What one kind does differently; the generic driver fixes the order and does the rest (metadata, generation for kinds
 * that have one, uid, managedFields, storage). Hooks get objects of their own to change and are pure otherwise.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Checks `metadata.name`; messages as Kubernetes' `IsDNS1123Subdomain` and the like give them. DNS subdomain when absent. */
  readonly validateName?: (name: string, isPrefix: boolean) => readonly string[];
  /** Whether finalizers without a slash must be Kubernetes' own. 'kubernetes' (yes) when absent. */
  readonly finalizers?: 'kubernetes' | 'qualified';
  /** Defaults that Kubernetes sets in code. Called on every decoded object, new or stored; idempotent. */
  readonly applyDefaults?: (object: T) => void;
  /** Clears what clients may not set (status) and sets what the server decides, before validation. */
  readonly prepareForCreate?: (object: T, context: StrategyContext) => void;
  /** The same for an update of the main resource: status kept from `old`. Generation is raised by the driver when spec changed. */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  /** Every rule on a single object beyond metadata, schema types included where Kubernetes reports them as Invalid. */
  readonly validate?: (object: T, old?: T) => readonly FieldError[];
  /** Rules that compare with what is stored (immutable fields). Called besides `validate`, its errors come first where Kubernetes has it so. */
  readonly validateUpdate?: (object: T, old: T) => readonly FieldError[];
  /** Whether the errors of `validateUpdate` come before those of `validate`. After them when absent. */
  readonly updateRules?: 'before' | 'after';
  /** Rules on new objects alone, besides `validate`. */
  readonly validateCreate?: (object: T) => readonly FieldError[];
  /**
   * How often Kubernetes reports wrong metadata of an update: by the driver alone ('driver'), by the kind's rules on changes
   * too ('change'), by those on the whole object instead ('object'), or by both ('whole', when absent). Some kinds look at the
   * whole object before the change ('whole first'), and one at the whole object again ('object twice').
   */
  readonly metadataOnUpdate?: 'driver' | 'change' | 'object' | 'whole' | 'whole first' | 'object twice';
  /** Texts for `Warning: 299` headers. */
  readonly warnings?: (object: T, old?: T) => readonly string[];
  /** False where an update must name a resourceVersion (`metadata.resourceVersion: Invalid value: 0: must be specified for an update`). True when absent. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Whether PUT of a missing object creates it. False when absent. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether `metadata.generation` is kept: 1 at creation, raised when anything but metadata and status changes. */
  readonly hasGeneration?: boolean;
  /** What raises the generation besides the desired state, in changes of the main resource: annotations, for a Deployment, and the status of custom resources without that subresource. */
  readonly generationWith?: 'annotations' | 'status';
  /** Grace period of a graceful deletion in seconds, or undefined when objects of this kind go at once. Given the requested one, if any. */
  readonly gracePeriodSeconds?: (object: T, requested: number | undefined) => number | undefined;
  /** For kinds that are marked first and end when somebody takes their finalizers away: what the mark adds. */
  readonly markForDeletion?: (object: T, now: Instant) => void;
  /** The propagation policy when the request names none: 'background' when absent. */
  readonly defaultPropagation?: 'background' | 'orphan' | 'foreground';
}

/** A subresource under `/<plural>/<name>/<subresource>`. */
export interface SubresourceDefinition<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** Group, version and kind of what it takes and gives, where that is not the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs: readonly Verb[];
  /** For those that update a part of the parent (status, approval, finalize, resize): what an update through it keeps and clears. */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  readonly validateUpdate?: (object: T, old: T) => readonly FieldError[];
  /** Texts for `Warning: 299` headers of updates through it. */
  readonly warnings?: (object: T) => readonly string[];
  /** Whether an update must name a resourceVersion. */
  readonly requiresVersion?: boolean;
  /** Where the scale subresource reads and writes (JSON paths with dots). */
  readonly scale?: {
    readonly specReplicas: string;
    readonly statusReplicas: string;
    readonly selector: string;
    /** Who says that there are too few replicas: the kind's own rules, or those on every Scale when absent. */
    readonly checks?: 'own';
  };
}

/** A printed column of `kubectl get`; priority 0 is always shown, 1 with `-o wide`. */
export interface Column<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string;
  readonly priority: number;
  readonly value: (object: T, now: Instant) => string | number | boolean | null;
}

/**
 * For a version of a resource that is stored in another version's form (autoscaling/v1), or under another resource
 * (events.k8s.io): where, and how to get there and back. Objects that come out have the kind and apiVersion of the side they
 * are on; what the other version cannot say is carried in annotations, as Kubernetes does. Both give new objects and leave
 * what they get untouched.
 */
export interface StorageForm<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly toStored: (object: T) => KubeObject;
  readonly fromStored: (stored: KubeObject) => T;
  /** For versions that a server elsewhere converts: used in place of both. Rejects with StatusError; one object for each. */
  readonly remote?: {
    readonly toStored: (object: T) => Promise<KubeObject>;
    readonly fromStored: (stored: readonly KubeObject[]) => Promise<readonly T[]>;
  };
}

/** One resource of the API: everything that makes it different, and nothing that does not. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Kind of a list where that is not the kind and `List`. */
  readonly listKind?: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Short name of its schema in schemas/kubernetes.json (`apps.v1.Deployment`), or the type itself for a custom resource. */
  readonly schema: SchemaRef;
  /** Annotations that say what this version has no fields for: whole objects have them, metadata alone (rows of tables) has not. */
  readonly fieldAnnotations?: readonly string[];
  /** What discovery tells of the verbs, where that is less than `verbs`. */
  readonly publishedVerbs?: readonly Verb[];
  /** What every request for the resource is warned of: that its version is going. */
  readonly requestWarnings?: readonly string[];
  /** Of a custom resource: the schema as its definition has it, for OpenAPI. */
  readonly publishedSchema?: JsonSchema;
  /** Absent for the version that is stored. */
  readonly storage?: StorageForm<T>;
  /** Another served version of the same kind, where the registry of built-in kinds does not know it (custom resources). */
  readonly sibling?: (version: string) => ResourceDefinition | undefined;
  readonly verbs: readonly Verb[];
  readonly strategy: Strategy<T>;
  readonly subresources: readonly SubresourceDefinition<T>[];
  readonly columns: readonly Column<T>[];
  /** Field selectors besides metadata.name and metadata.namespace; absent values read as ''. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** False for kinds that are only posted and answered (SelfSubjectReview). */
  readonly stored: boolean;
}

/** Names a resource in requests and registries. */
export interface ResourceRef {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
}

/** `v1` or `apps/v1`. */
export function apiVersionOf(of: { readonly group: string; readonly version: string }): string {
  return of.group === '' ? of.version : `${of.group}/${of.version}`;
}

/** Inverse of `apiVersionOf`. */
export function parseApiVersion(apiVersion: string): { group: string; version: string } {
  const slash = apiVersion.indexOf('/');
  return slash < 0
    ? { group: '', version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) };
}
