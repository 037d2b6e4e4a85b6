/**
 * Write Kubernetes controllers in TypeScript. The built-in controllers of Gantry run on the same runtime.
 *
 * - `operator`: `runOperator` runs controllers as a process; `createOperator` is for tests and larger processes
 * - `controller`: `Controller`, the reconcile of a key; `watchSelf`, `watchOwnedBy` and `watchMapped` say which keys a change queues
 * - `declared-controller`: `declare` makes a controller of a pure function: observed state in, desired objects and status out
 * - `outside`: what the objects of a declared controller stand for outside of the cluster
 * - `define-kind`: a custom kind by Zod: type, schema, rules, columns, CustomResourceDefinition
 * - `webhooks/admission`: `validating` and `mutating`, webhooks that decide about writes
 * - `webhooks/conversion`: `withVersions`, a custom kind in several versions
 * - `webhooks/webhook-options`: `webhookManifests`, what API servers need to call them
 * - `schedule`: the times of a cron schedule, as a CronJob has them
 * - `conditions`, `finalizer`: conditions of a status; clean-up before a deletion
 * - `rights`: `rolesOf`, the least rights of an operator as manifests
 * - `tracer`: spans of reconciles and webhooks, for OpenTelemetry
 * - `cluster`: `connect`, from a kubeconfig or the account of a pod
 * - `lease-election`: one acting replica, by a Lease
 * - objects: the types of all built-in kinds, and their resources (`PODS: Resource<Pod>`)
 */
export { type Cluster, connect, type ConnectOptions } from './cluster.ts';
export type { Controller, RateLimit, ReconcileContext } from './controller.ts';
export { OptionsError } from './options-error.ts';
export { type ConditionChange, withCondition } from './conditions.ts';
export {
  type CacheReader,
  type DeclaredController,
  declare,
  type Desired,
  type DesiredEvent,
  type Observed,
} from './declared-controller.ts';
export {
  type Column,
  type CustomKind,
  type CustomObject,
  defineKind,
  type KindOptions,
  type ObjectOf,
  type Rule,
  withRules,
} from './define-kind.ts';
export { type FinalizedObject, withFinalizer } from './finalizer.ts';
export { type Outside, OutsideError } from './outside.ts';
export { type Right, type RolesOptions, rolesOf } from './rights.ts';
export { Schedule, ScheduleError } from './schedule.ts';
export { KindError } from './structural-schema.ts';
export {
  LeaseElection,
  type LeaseElectionOptions,
  type LeaseTerm,
  type LeaseTimes,
  LeaseTimesError,
} from './lease-election.ts';
export {
  CacheSyncError,
  createOperator,
  type LeaderElection,
  type Operator,
  type OperatorOptions,
  runOperator,
} from './operator.ts';
export {
  type AdmissionRequest,
  type AdmissionResponse,
  type AdmissionWebhook,
  type MutableRequest,
  type Mutating,
  mutating,
  type RequestUser,
  type ReviewedRequest,
  type Validating,
  validating,
  type Verdict,
  type WebhookRule,
} from './webhooks/admission.ts';
export {
  type Conversion,
  type Converted,
  type ConvertibleKind,
  type Spoke,
  spoke,
  withVersions,
} from './webhooks/conversion.ts';
export { webhookManifests, type WebhookManifestsOptions, type WebhookOptions } from './webhooks/webhook-options.ts';
export { indexBy } from './index-by.ts';
export type { Span, Tracer } from './tracer.ts';
export { DesiredError } from './wanted.ts';
export { watchOwnedBy } from './watch-owned-by.ts';
export {
  type Cache,
  type EventRecorder,
  executeActions,
  findObject,
  type InformedResource,
  type Log,
  lookAgainOnConflict,
  type ObjectIndex,
  type ReconcileKey,
  type Result,
  watchMapped,
  watchSelf,
  type WatchSpec,
} from '@gantry/controller-runtime';
export {
  ignoreNotFound,
  ignoreReasons,
  KubeconfigError,
  type ListOptions,
  type ObjectClient,
  type ObjectReader,
  type ObjectWriter,
  type SubresourceWriter,
  type WatchEvent,
  type WatchOptions,
} from '@gantry/client';
export {
  apiVersionOf,
  controllerOf,
  controllerReference,
  isReason,
  keyOf,
  type KubeObject,
  labelSelectorFrom,
  type ObjectKey,
  parseLabelSelector,
  parseQuantity,
  quantityValue,
  type Resource,
  type ResourceRef,
  StatusError,
  type StatusReason,
} from '@gantry/objects';
export * from '@gantry/objects/generated';
