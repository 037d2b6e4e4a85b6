import type { Instant, InTurns } from '@gantry/base';
import type { FieldError, KubeObject, PodTemplateSpec } from '@gantry/objects';
import type { JsonSchema } from './schema/json-schema.ts';
import type { SchemaRef } from './schema/type-schema.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

/**
 * Fields that a write cannot change: they get no owner in managedFields. Their values are reset by `prepareForCreate` and
 * `prepareForUpdate`, which must agree with it. Either those that are reset (`drop`), or, where it is all others, those that are
 * not (`keep`). A path is a list of names, `*` for every item.
 */
export type ResetFields =
  | { readonly drop: readonly (readonly string[])[] }
  | { readonly keep: readonly (readonly string[])[] };

/** What quotas limit of a kind, in addition to the number of its objects. */
export interface QuotaUsage<T extends KubeObject = KubeObject> {
  /** Whether a name in a quota (`requests.cpu`) limits objects of this kind. */
  readonly limits: (name: string) => boolean;
  /** The amounts that an object uses, by those names. */
  readonly usage: (object: T, now: Instant) => Readonly<Record<string, string>>;
  /** Whether an object is in a scope of a quota; kinds without it are in none. */
  readonly isInScope?: (object: T, scope: string, operator: string, values: readonly string[]) => boolean;
}

/** The input of a hook, in addition to the objects. */
export interface StrategyContext {
  readonly now: Instant;
  /** The user name of the request, for fields that record who did it (CertificateSigningRequest). */
  readonly user: {
    readonly name: string;
    readonly uid: string;
    readonly groups: readonly string[];
    readonly extra: Readonly<Record<string, readonly string[]>>;
  };
  /** Sends a `Warning: 299` header to the client. */
  readonly warn: (text: string) => void;
}

/** What rules find wrong; in turns, where finding it may take long. */
export type Errors = readonly FieldError[] | InTurns<readonly FieldError[]>;

/**
 * What one kind does differently. The registry fixes the order of the hooks and does the rest: metadata, generation, uid,
 * managedFields, storage. A hook may change the object that it gets; otherwise it is pure.
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
  /** The same for an update of the main resource: status kept from `old`. The registry raises the generation when the spec changes. */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  /** Every rule on a single object beyond metadata, schema types included where Kubernetes reports them as Invalid. */
  readonly validate?: (object: T, old?: T) => Errors;
  /** Rules that compare with what is stored (immutable fields). Called in addition to `validate`; `updateRules` has the order. */
  readonly validateUpdate?: (object: T, old: T) => Errors;
  /** Whether the errors of `validateUpdate` come before those of `validate`. After them when absent. */
  readonly updateRules?: 'before' | 'after';
  /** Rules on new objects only, in addition to `validate`. */
  readonly validateCreate?: (object: T) => Errors;
  /**
   * Which rules report wrong metadata of an update, as in Kubernetes. The common rules always do; for 'common' only they. Also
   * the kind's rules on changes ('change'), on the whole object ('object'), or both ('whole', when absent). 'whole first' checks
   * the whole object before the change, 'object twice' checks it twice.
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
  /** What also raises the generation: annotations of a Deployment, or the status of custom resources without that subresource. */
  readonly generationWith?: 'annotations' | 'status';
  /** Grace period of a graceful deletion in seconds, or undefined when the object is deleted at once. Gets the requested period, if any. */
  readonly gracePeriodSeconds?: (object: T, requested: number | undefined) => number | undefined;
  /** For kinds that are marked as deleted and wait for their finalizers: what the mark adds. */
  readonly markForDeletion?: (object: T, now: Instant) => void;
  /** What answers a completed deletion: a Status when absent. Kubernetes differs from kind to kind. */
  readonly deletionResponse?: 'status' | 'object';
  /** Fields that writes of the object itself cannot change. The status when absent, for kinds that have that subresource. */
  readonly resetFields?: ResetFields;
  /**
   * The propagation policy when the request names none: 'background' when absent. 'unsupported': no policy counts, as the garbage
   * collector does not look at the kind.
   */
  readonly defaultPropagation?: 'background' | 'orphan' | 'foreground' | 'unsupported';
}

/** A subresource under `/<plural>/<name>/<subresource>`. */
export interface SubresourceDefinition<T extends KubeObject = KubeObject> {
  readonly name: string;
  /** Group, version and kind of its request and response, where these are not the parent's. */
  readonly group?: string;
  readonly version?: string;
  readonly kind?: string;
  readonly verbs: readonly Verb[];
  /** For those that update a part of the parent (status, approval, finalize, resize): restores what an update through it cannot change. */
  readonly prepareForUpdate?: (object: T, old: T, context: StrategyContext) => void;
  readonly validateUpdate?: (object: T, old: T) => Errors;
  /**
   * Fields that writes through it cannot change. When absent: for a status the spec, and with a schema of the kind's own the
   * metadata too; none for others.
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
    /** What rejects a negative number of replicas: 'own' for the kind's rules, those on every Scale when absent. */
    readonly checks?: 'own';
  };
}

/** Stands for the description that Kubernetes publishes of a field. */
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
 * For a version that is stored in the form of another version (autoscaling/v1) or of another resource (events.k8s.io): where,
 * and how to convert. Results have the kind and apiVersion of their side; annotations carry what the other version has no field
 * for, as in Kubernetes. Both return new objects and do not change their argument.
 */
export interface StorageForm<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly toStored: (object: T) => KubeObject;
  readonly fromStored: (stored: KubeObject) => T;
  /** For versions that a webhook converts: used in place of both. Returns one object for each; rejects with StatusError. */
  readonly remote?: {
    readonly toStored: (object: T) => Promise<KubeObject>;
    readonly fromStored: (stored: readonly KubeObject[]) => Promise<readonly T[]>;
  };
}

/** Everything known about one resource of the API, built-in or custom. */
export interface ResourceDefinition<T extends KubeObject = KubeObject> {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Kind of a list, where it is not the kind with `List`. */
  readonly listKind?: string;
  /** Plural, as in the path. */
  readonly resource: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  /** Short name of its schema in schemas/kubernetes.json (`apps.v1.Deployment`), or the type itself for a custom resource. */
  readonly schema: SchemaRef;
  /** Annotations that stand for fields of other versions: only whole objects have them, not metadata in tables. */
  readonly fieldAnnotations?: readonly string[];
  /** The verbs in discovery, where these are fewer than `verbs`. */
  readonly publishedVerbs?: readonly Verb[];
  /** Warnings of every request for the resource: that its version is deprecated. */
  readonly requestWarnings?: readonly string[];
  /** For OpenAPI, where Kubernetes does not publish the schema: that of a custom resource, or of `kindSchema`. */
  readonly publishedSchema?: JsonSchema;
  /** Of a kind with a `publishedSchema`: it has a protobuf form all the same, as Kubernetes' own kind. */
  readonly protobuf?: 'served';
  /** Absent for the version that is stored. */
  readonly storage?: StorageForm<T>;
  /** Another served version of the same kind; for custom resources, which the list of built-in kinds does not have. */
  readonly sibling?: (version: string) => ResourceDefinition | undefined;
  readonly verbs: readonly Verb[];
  readonly strategy: Strategy<T>;
  readonly subresources: readonly SubresourceDefinition<T>[];
  readonly columns: readonly Column<T>[];
  /** Field selectors in addition to metadata.name and metadata.namespace; '' for absent values. */
  readonly selectableFields: Readonly<Record<string, (object: T) => string>>;
  /** The message for a field that selects nothing, where it is not Kubernetes' usual one. */
  readonly fieldSelectorError?: (field: string, apiVersion: string) => string;
  /** The template of the pods that a controller makes for an object, for checks of pods. */
  readonly podTemplate?: (object: T) => PodTemplateSpec | undefined;
  /** What quotas limit of its objects, in addition to their number. */
  readonly quota?: QuotaUsage<T>;
  /** True for reviews, which admission policies and webhooks must not block: that could lock all users out. */
  readonly exemptFromPolicies?: boolean;
  /** False for kinds that are only requests with a response (SelfSubjectReview). */
  readonly stored: boolean;
}

/** Whether objects are served as protobuf: custom resources are not, but for their metadata. */
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

/** The verbs of a subresource that passes requests on, whatever their method. */
export const PROXY_VERBS: readonly Verb[] = ['create', 'delete', 'get', 'patch', 'update'];
