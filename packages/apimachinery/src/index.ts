/**
 * What is done with objects of any kind, built-in or custom. Pure, no I/O.
 *
 * A `ResourceDefinition` is everything known about a resource; `defineResource` makes one. The rest works on any definition.
 * Parts: `schema` (the types of fields) → `values` (JSON to typed values) → `protobuf` → `decode` (bodies of requests to objects),
 * `patch` (three patch types),
 * `managed-fields` (server-side apply), `openapi`; `field-selector`; `validation` (metadata, and the order of a kind's rules).
 * Data about Kubernetes' release is in the folder `schemas`, its importers in `tools`.
 *
 * Used by the API server, by `kinds` and `custom-resources`, and for parsing and patching by the client.
 * `./testing` exports parts for tests of the machinery that need real kinds.
 */
export {
  ageColumn,
  column,
  createdAtColumn,
  describedAs,
  fieldColumn,
  formatAge,
  formatDuration,
  nameColumn,
} from './columns.ts';
export {
  type DecodeInput,
  type DecodedObject,
  type FieldValidation,
  decodeAs,
  beginDecoding,
  decodeObject,
} from './decode/decode-object.ts';
export { parsePlainBody } from './decode/plain-body.ts';
export { DecodeError, decodeStruct } from './values/decode-value.ts';
export { defineResource, type ResourceParts } from './define-resource.ts';
export { parseJson } from './values/exact-number.ts';
export { carryGivenEmpty, cloneWithEmpty, givenEmpty, separateShares } from './values/given-empty.ts';
export { type ParsedObject } from './values/json-parser.ts';
export { normaliseShape } from './values/normalise-shape.ts';
export { type FieldLabels, fieldLabelsOf } from './field-selector.ts';
export { type FieldRequirement, FieldSelector, parseFieldSelector } from './field-selector.ts';
export { type ApplyInput, applyConfiguration } from './managed-fields/apply-configuration.ts';
export { type Comparison, compareFields } from './managed-fields/compare.ts';
export { FieldSet, type FieldsV1 } from './managed-fields/field-set.ts';
export { type ManagedKind, type OtherVersion, managedKindOf } from './managed-fields/managed-kind.ts';
export { findManagedFieldsProblem } from './managed-fields/managers.ts';
export { MergeRefused, mergeUnowned } from './managed-fields/merge-unowned.ts';
export { METADATA_AND_SPEC } from './managed-fields/managed-kind.ts';
export { type ReplicasPath, SCALE_KIND, ownersFromScale, ownersInScale } from './managed-fields/scale-owners.ts';
export {
  type ManagedFieldsInput,
  updateManagedFields,
} from './managed-fields/update-managed-fields.ts';
export { openApiDocument, openApiPathOf } from './openapi/openapi-document.ts';
export { joinOpenApiV2Json, type OpenApiV2Part, openApiV2JsonPart } from './openapi/openapi-v2-json.ts';
export { encodeOpenApiV2Part, joinOpenApiV2 } from './openapi/openapi-v2.ts';
export { fullSchemaName } from './openapi/schema-names.ts';
export { type Describe, heldSchema, reachableSchemas } from './openapi/schema-objects.ts';
export { APPLY_PATCH_TYPE, type ApplyConfig, readApplyConfig } from './patch/apply-config.ts';
export { PATCH_TYPES, type PatchedObject, applyPatch } from './patch/apply-patch.ts';
export { type JsonPatchOperation, PatchConflict, PatchTestFailed, applyJsonPatch } from './patch/json-patch.ts';
export { isPlainObject } from './patch/merge-patch.ts';
export { type KindName, decodeProtobuf, encodeProtobuf, encodeWatchFrame } from './protobuf/envelope.ts';
export { schemaOfKind } from './protobuf/message-plan.ts';
export {
  hasProtobuf,
  type Column,
  type Errors,
  type FieldDescription,
  type QuotaUsage,
  type ResetFields,
  type ResourceDefinition,
  type StorageForm,
  type Strategy,
  type StrategyContext,
  type SubresourceDefinition,
  type Verb,
} from './resource-definition.ts';
export {
  type JsonSchema,
  META_FIELDS,
  type ValidationRule,
  asResourceRoot,
  isJsonObject,
  itemsOf,
  propertyOf,
  valuesOf,
} from './schema/json-schema.ts';
export {
  type AnyType,
  type CustomCodec,
  type Field,
  type ListType,
  type MapType,
  type ScalarKind,
  type SchemaRef,
  type StructType,
  type Type,
  hasSchema,
  schemaNameOf,
  schemaOf,
} from './schema/type-schema.ts';
export {
  IMMUTABLE,
  NON_NEGATIVE,
  immutable,
  invalidAll,
  invalidOmitted,
  nonNegative,
  notFound,
  unsupported,
} from './validation/errors.ts';
export {
  formatLabelSelector,
  isEmptySelector,
  selectorMatches,
  validateAnnotations,
  validateLabelRequirement,
  validateLabelSelector,
  validateLabels,
  valueCountErrors,
} from './validation/labels.ts';
export { validateFinalizerName, validateObjectMeta } from './validation/object-meta.ts';
export {
  errorsOf,
  validateChange,
  validateChangeInTurns,
  validateNew,
  validateNewInTurns,
  validatePartChange,
} from './validation/validate-object.ts';
export {
  validateAdmissionClient,
  validateReviewVersions,
  validateWebhookService,
  validateWebhookUrl,
} from './validation/webhook-client.ts';
export { PART_VERBS, PROXY_VERBS, STORED_VERBS } from './resource-definition.ts';
