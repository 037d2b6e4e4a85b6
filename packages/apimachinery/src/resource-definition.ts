import type { Instant, InTurns } from '@gantry/base';
import type { FieldError, KubeObject, PodTemplateSpec } from '@gantry/objects';
import type { JsonSchema } from './schema/json-schema.ts';
import type { SchemaRef } from './schema/type-schema.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/**
 * Fields that a write cannot change, so they get no owner in managedFields. `prepareForCreate` and `prepareForUpdate` reset their values
 * and must match this. `drop` lists the fields that are reset; `keep` lists the fields that are not, when all others are. A path is a list
 * of names; `*` stands for every item.
 */
export type ResetFields =
  | { readonly drop: readonly (readonly string[])[] }
  | { readonly keep: readonly (readonly string[])[] };

/** What quotas limit for a kind, in addition to the number of objects. */
export interface QuotaUsage<T extends KubeObject = KubeObject> {
  /** Whether a resource name in a quota (`requests.cpu`) applies to objects of this kind. */
  readonly limits: (name: string) => boolean;
  /** The amounts that an object uses, by those names. */
  readonly usage: (object: T, now: Instant) => Readonly<Record<string, string>>;
  /** Whether an object matches a scope of a quota. Objects of kinds without this function match none. */
  readonly isInScope?: (object: T, scope: string, operator: string, values: readonly string[]) => boolean;
}

/** Context of a hook, in addition to the objects. */
export interface StrategyContext {
  readonly now: Instant;
  /** The user of the request, for fields that record who made it (CertificateSigningRequest). */
  readonly user: {
    readonly name: string;
    readonly uid: string;
    readonly groups: readonly string[];
    readonly extra: Readonly<Record<string, readonly string[]>>;
  };
  /** Sends a `Warning: 299` header to the client. */
  readonly warn: (text: string) => void;
}

/** The errors that rules report; in turns if checking may take long. */
export type Errors = readonly FieldError[] | InTurns<readonly FieldError[]>;

/**
 * What one kind does differently. The registry fixes the order of the hooks and does the rest: metadata, generation, uid,
 * managedFields, storage. A hook may change the object that it gets; otherwise it is pure.
 */
export interface Strategy<T extends KubeObject = KubeObject> {
  /** Checks `metadata.name`. Returns messages like those of Kubernetes' `IsDNS1123Subdomain`. DNS subdomain when absent. */
  readonly validateName?: (name: string, isPrefix: boolean) => readonly string[];
  /** Whether finalizers without a slash must be Kubernetes' own. 'kubernetes' (yes) when absent. */
  readonly finalizers?: 'kubernetes' | 'qualified';
  /** Defaults that Kubernetes sets in code. Called on every decoded object, new or stored; idempotent. */
  readonly applyDefaults?: (object: T) => void;
  /** Before validation: clears fields that clients may not set (status) and sets fields that the server decides. */
  readonly prepareForCreate?: (object: T, context: StrategyContext) => void;
  /** The same for an update of the main resource; keeps the status of `old`. The registry raises the generation when the spec changes. */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  /** All rules on a single object except metadata. Includes schema types where Kubernetes reports type errors as Invalid. */
  readonly validate?: (object: T, old?: T) => Errors;
  /** Rules that compare with the stored object (immutable fields). Called in addition to `validate`, in the order of `updateRules`. */
  readonly validateUpdate?: (object: T, old: T) => Errors;
  /** Whether the errors of `validateUpdate` come before those of `validate`. After them when absent. */
  readonly updateRules?: 'before' | 'after';
  /** Rules on new objects only, in addition to `validate`. */
  readonly validateCreate?: (object: T) => Errors;
  /**
   * Which rules report invalid metadata of an update, as in Kubernetes. The common rules always do; with 'common' only they. Otherwise also
   * the kind's rules on changes ('change'), on the whole object ('object'), or both ('whole', when absent). 'whole first' checks the whole
   * object before the change; 'object twice' checks it twice.
   */
  readonly metadataOnUpdate?: 'common' | 'change' | 'object' | 'whole' | 'whole first' | 'object twice';
  /** Texts for `Warning: 299` headers. */
  readonly warnings?: (object: T, old?: T) => readonly string[];
  /** False where an update must name a resourceVersion (`metadata.resourceVersion: Invalid value: 0: must be specified for an update`). True when absent. */
  readonly allowUnconditionalUpdate?: boolean;
  /** Whether PUT of a missing object creates it. False when absent. */
  readonly allowCreateOnUpdate?: boolean;
  /** Whether `metadata.generation` is kept: 1 at creation, raised when anything but metadata and status changes. */
  readonly hasGeneration?: boolean;
  /** What else raises the generation: annotations (Deployment), or the status (custom resources without a status subresource). */
  readonly generationWith?: 'annotations' | 'status';
  /** Grace period of a graceful deletion in seconds. `requested` is the period of the request, if any. */
  readonly gracePeriodSeconds?: (object: T, requested: number | undefined) => number;
  /** What marking for deletion adds, for kinds that are marked as deleted and wait for finalizers. */
  readonly markForDeletion?: (object: T, now: Instant) => void;
  /** The response to a completed deletion: a Status when absent. It differs between kinds in Kubernetes. */
  readonly deletionResponse?: 'status' | 'object';
  /** Fields that writes of the object itself cannot change. When absent: the status, for kinds with a status subresource. */
  readonly resetFields?: ResetFields;
  /**
   * The propagation policy when the request has none: 'background' when absent. 'unsupported': policies have no effect, because the garbage
   * collector ignores the kind.
   */
  readonly defaultPropagation?: 'orphan' | 'unsupported';
}

/** A subresource under `/<plural>/<name>/<subresource>`. */
export interface SubresourceDefinition<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** Group, version and kind of its request and response, if they differ from the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs: readonly Verb[];
  /**
   * For subresources that update a part of the parent (status, approval, finalize, resize): restores what an update through it cannot
   * change.
   */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  readonly validateUpdate?: (object: T, old: T) => Errors;
  /**
   * Fields that writes through it cannot change. When absent: for a status the spec, and for a kind with its own schema also the metadata;
   * otherwise none.
   */
  readonly resetFields?: ResetFields;
  /** Texts for `Warning: 299` headers of updates through it. */
  readonly warnings?: (object: T) => readonly string[];
  /** Whether an update must name a resourceVersion. */
  readonly requiresVersion?: boolean;
  /** Where the scale subresource reads and writes (JSON paths with dots). */
  readonly scale?: {
    readonly specReplicas: string;
    readonly statusReplicas: string;
    readonly selector: string;
    /** What rejects negative replicas: with 'own' the kind's rules; the rules for every Scale when absent. */
    readonly checks?: 'own';
  };
}

/** A reference to the description that Kubernetes publishes for a field. */
export interface FieldDescription {
  readonly schema: string;
  readonly field: string;
}

/** A printed column of `kubectl get`; priority 0 is always shown, 1 with `-o wide`. */
export interface Column<T extends KubeObject = KubeObject> {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format?: string;
  readonly description: string | FieldDescription;
  readonly priority: number;
  readonly value: (object: T, now: Instant) => string | number | boolean | null;
}

/**
 * For a version that is stored in the form of another version (autoscaling/v1) or another resource (events.k8s.io): the stored form and the
 * conversions. Results have the kind and apiVersion of their side. Annotations hold fields that the other version lacks, as in Kubernetes.
 * Both functions return new objects and do not change their argument.
 */
export interface StorageForm<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly toStored: (object: T) => KubeObject;
  /** `toStored` without the defaults of the stored version, which would have no owner in managed fields. Absent if there are none. */
  readonly toStoredBare?: (object: T) => KubeObject;
  readonly fromStored: (stored: KubeObject) => T;
  /**
   * Used instead of both functions for versions that a webhook converts. Returns one object per argument object; rejects with StatusError.
   */
  readonly remote?: {
    readonly toStored: (object: T) => Promise<KubeObject>;
    readonly fromStored: (stored: readonly KubeObject[]) => Promise<readonly T[]>;
    /** Converts an object of any version to another one, as the webhook returns it. */
    readonly convert: (object: KubeObject, apiVersion: string) => Promise<KubeObject>;
  };
}

/** Everything known about one resource of the API, built-in or custom. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Kind of a list, if it is not the kind plus `List`. */
  readonly listKind?: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Short name of its schema in schemas/kubernetes.json (`apps.v1.Deployment`), or the type itself for a custom resource. */
  readonly schema: SchemaRef;
  /** Annotations that hold fields of other versions. Only whole objects have them, not the metadata in tables. */
  readonly fieldAnnotations?: readonly string[];
  /** The verbs in discovery, if they are fewer than `verbs`. */
  readonly publishedVerbs?: readonly Verb[];
  /** Warnings for every request of the resource: that its version is deprecated. */
  readonly requestWarnings?: readonly string[];
  /** The schema for OpenAPI if Kubernetes does not publish one: that of a custom resource, or of `kindSchema`. */
  readonly publishedSchema?: JsonSchema;
  /** For a kind with `publishedSchema`: it has a protobuf form nevertheless, like Kubernetes' own kinds. */
  readonly protobuf?: 'served';
  /** Absent for the version that is stored. */
  readonly storage?: StorageForm<T>;
  /** Returns another version of the same kind, served or not; for custom resources, which are not in the list of built-in kinds. */
  readonly sibling?: (version: string) => ResourceDefinition | undefined;
  readonly verbs: readonly Verb[];
  readonly strategy: Strategy<T>;
  readonly subresources: readonly SubresourceDefinition<T>[];
  readonly columns: readonly Column<T>[];
  /** Field selectors in addition to metadata.name and metadata.namespace; an absent value is ''. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** The message for an unsupported field, if it differs from Kubernetes' usual one. */
  readonly fieldSelectorError?: (field: string, apiVersion: string) => string;
  /** The pod template of an object, for checks of pods. */
  readonly podTemplate?: (object: T) => PodTemplateSpec | undefined;
  /** What quotas limit of its objects, in addition to their number. */
  readonly quota?: QuotaUsage<T>;
  /** True for reviews: admission policies and webhooks must not block them, because that could lock out all users. */
  readonly exemptFromPolicies?: boolean;
  /** False for kinds that are only requests with a response (SelfSubjectReview). */
  readonly stored: boolean;
}

/** Whether objects are served as protobuf. Custom resources are not, except for their metadata. */
export function hasProtobuf({ publishedSchema, protobuf }: ResourceDefinition): boolean {
  return publishedSchema === undefined || protobuf === 'served';
}

/** The verbs of an ordinary stored resource. */
export const STORED_VERBS: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

/** The verbs of a subresource that updates a part of its parent. */
export const PART_VERBS: readonly Verb[] = ['get', 'patch', 'update'];

/** The verbs of a subresource that forwards requests of any method. */
export const PROXY_VERBS: readonly Verb[] = ['create', 'delete', 'get', 'patch', 'update'];
