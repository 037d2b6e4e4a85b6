// Written by packages/apimachinery/tools/import-schemas.ts from its schemas/kubernetes.json. Do not edit.

export type ApplyConfiguration = {
  expression?: string;
};

export type AuditAnnotation = {
  key: string;
  valueExpression: string;
};

export type ExpressionWarning = {
  fieldRef: string;
  warning: string;
};

export type JSONPatch = {
  expression?: string;
};

export type MatchCondition = {
  expression: string;
  name: string;
};

export type MatchResources = {
  excludeResourceRules?: NamedRuleWithOperations[];
  matchPolicy?: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  resourceRules?: NamedRuleWithOperations[];
};

export type MutatingAdmissionPolicy = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: MutatingAdmissionPolicySpec;
};

export type MutatingAdmissionPolicyBinding = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: MutatingAdmissionPolicyBindingSpec;
};

export type MutatingAdmissionPolicyBindingList = {
  apiVersion: string;
  items: MutatingAdmissionPolicyBinding[];
  kind: string;
  metadata: ListMeta;
};

export type MutatingAdmissionPolicyBindingSpec = {
  matchResources?: MatchResources;
  paramRef?: ParamRef;
  policyName?: string;
};

export type MutatingAdmissionPolicyList = {
  apiVersion: string;
  items: MutatingAdmissionPolicy[];
  kind: string;
  metadata: ListMeta;
};

export type MutatingAdmissionPolicySpec = {
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  matchConstraints?: MatchResources;
  mutations?: Mutation[];
  paramKind?: ParamKind;
  reinvocationPolicy?: string;
  variables?: Variable[];
};

export type MutatingWebhook = {
  admissionReviewVersions: string[];
  clientConfig: WebhookClientConfig;
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  matchPolicy?: string;
  name: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  reinvocationPolicy?: string;
  rules?: RuleWithOperations[];
  sideEffects: string;
  timeoutSeconds?: number;
};

export type MutatingWebhookConfiguration = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  webhooks?: MutatingWebhook[];
};

export type MutatingWebhookConfigurationList = {
  apiVersion: string;
  items: MutatingWebhookConfiguration[];
  kind: string;
  metadata: ListMeta;
};

export type Mutation = {
  applyConfiguration?: ApplyConfiguration;
  jsonPatch?: JSONPatch;
  patchType: string;
};

export type NamedRuleWithOperations = {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: string[];
  resourceNames?: string[];
  resources?: string[];
  scope?: string;
};

export type ParamKind = {
  apiVersion?: string;
  kind?: string;
};

export type ParamRef = {
  name?: string;
  namespace?: string;
  parameterNotFoundAction?: string;
  selector?: LabelSelector;
};

export type RuleWithOperations = {
  apiGroups?: string[];
  apiVersions?: string[];
  operations?: string[];
  resources?: string[];
  scope?: string;
};

export type ServiceReference = {
  name: string;
  namespace: string;
  path?: string;
  port?: number;
};

export type TypeChecking = {
  expressionWarnings?: ExpressionWarning[];
};

export type ValidatingAdmissionPolicy = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ValidatingAdmissionPolicySpec;
  status?: ValidatingAdmissionPolicyStatus;
};

export type ValidatingAdmissionPolicyBinding = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ValidatingAdmissionPolicyBindingSpec;
};

export type ValidatingAdmissionPolicyBindingList = {
  apiVersion: string;
  items: ValidatingAdmissionPolicyBinding[];
  kind: string;
  metadata: ListMeta;
};

export type ValidatingAdmissionPolicyBindingSpec = {
  matchResources?: MatchResources;
  paramRef?: ParamRef;
  policyName: string;
  validationActions: string[];
};

export type ValidatingAdmissionPolicyList = {
  apiVersion: string;
  items: ValidatingAdmissionPolicy[];
  kind: string;
  metadata: ListMeta;
};

export type ValidatingAdmissionPolicySpec = {
  auditAnnotations?: AuditAnnotation[];
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  matchConstraints?: MatchResources;
  paramKind?: ParamKind;
  validations?: Validation[];
  variables?: Variable[];
};

export type ValidatingAdmissionPolicyStatus = {
  conditions?: Condition[];
  observedGeneration?: number;
  typeChecking?: TypeChecking;
};

export type ValidatingWebhook = {
  admissionReviewVersions: string[];
  clientConfig: WebhookClientConfig;
  failurePolicy?: string;
  matchConditions?: MatchCondition[];
  matchPolicy?: string;
  name: string;
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  rules?: RuleWithOperations[];
  sideEffects: string;
  timeoutSeconds?: number;
};

export type ValidatingWebhookConfiguration = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  webhooks?: ValidatingWebhook[];
};

export type ValidatingWebhookConfigurationList = {
  apiVersion: string;
  items: ValidatingWebhookConfiguration[];
  kind: string;
  metadata: ListMeta;
};

export type Validation = {
  expression: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
};

export type Variable = {
  expression: string;
  name: string;
};

export type WebhookClientConfig = {
  caBundle?: string;
  service?: ServiceReference;
  url?: string;
};

export type ControllerRevision = {
  apiVersion: string;
  data?: Record<string, unknown>;
  kind: string;
  metadata: ObjectMeta;
  revision: number;
};

export type ControllerRevisionList = {
  apiVersion: string;
  items: ControllerRevision[];
  kind: string;
  metadata: ListMeta;
};

export type DaemonSet = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: DaemonSetSpec;
  status?: DaemonSetStatus;
};

export type DaemonSetCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type DaemonSetList = {
  apiVersion: string;
  items: DaemonSet[];
  kind: string;
  metadata: ListMeta;
};

export type DaemonSetSpec = {
  minReadySeconds?: number;
  revisionHistoryLimit?: number;
  selector: LabelSelector;
  template: PodTemplateSpec;
  updateStrategy?: DaemonSetUpdateStrategy;
};

export type DaemonSetStatus = {
  collisionCount?: number;
  conditions?: DaemonSetCondition[];
  currentNumberScheduled: number;
  desiredNumberScheduled: number;
  numberAvailable?: number;
  numberMisscheduled: number;
  numberReady: number;
  numberUnavailable?: number;
  observedGeneration?: number;
  updatedNumberScheduled?: number;
};

export type DaemonSetUpdateStrategy = {
  rollingUpdate?: RollingUpdateDaemonSet;
  type?: string;
};

export type Deployment = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: DeploymentSpec;
  status?: DeploymentStatus;
};

export type DeploymentCondition = {
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type DeploymentList = {
  apiVersion: string;
  items: Deployment[];
  kind: string;
  metadata: ListMeta;
};

export type DeploymentSpec = {
  minReadySeconds?: number;
  paused?: boolean;
  progressDeadlineSeconds?: number;
  replicas?: number;
  revisionHistoryLimit?: number;
  selector: LabelSelector;
  strategy?: DeploymentStrategy;
  template: PodTemplateSpec;
};

export type DeploymentStatus = {
  availableReplicas?: number;
  collisionCount?: number;
  conditions?: DeploymentCondition[];
  observedGeneration?: number;
  readyReplicas?: number;
  replicas?: number;
  terminatingReplicas?: number;
  unavailableReplicas?: number;
  updatedReplicas?: number;
};

export type DeploymentStrategy = {
  rollingUpdate?: RollingUpdateDeployment;
  type?: string;
};

export type ReplicaSet = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ReplicaSetSpec;
  status?: ReplicaSetStatus;
};

export type ReplicaSetCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type ReplicaSetList = {
  apiVersion: string;
  items: ReplicaSet[];
  kind: string;
  metadata: ListMeta;
};

export type ReplicaSetSpec = {
  minReadySeconds?: number;
  replicas?: number;
  selector: LabelSelector;
  template?: PodTemplateSpec;
};

export type ReplicaSetStatus = {
  availableReplicas?: number;
  conditions?: ReplicaSetCondition[];
  fullyLabeledReplicas?: number;
  observedGeneration?: number;
  readyReplicas?: number;
  replicas: number;
  terminatingReplicas?: number;
};

export type RollingUpdateDaemonSet = {
  maxSurge?: number | string;
  maxUnavailable?: number | string;
};

export type RollingUpdateDeployment = {
  maxSurge?: number | string;
  maxUnavailable?: number | string;
};

export type RollingUpdateStatefulSetStrategy = {
  maxUnavailable?: number | string;
  partition?: number;
};

export type StatefulSet = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: StatefulSetSpec;
  status?: StatefulSetStatus;
};

export type StatefulSetCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type StatefulSetList = {
  apiVersion: string;
  items: StatefulSet[];
  kind: string;
  metadata: ListMeta;
};

export type StatefulSetOrdinals = {
  start?: number;
};

export type StatefulSetPersistentVolumeClaimRetentionPolicy = {
  whenDeleted?: string;
  whenScaled?: string;
};

export type StatefulSetSpec = {
  minReadySeconds?: number;
  ordinals?: StatefulSetOrdinals;
  persistentVolumeClaimRetentionPolicy?: StatefulSetPersistentVolumeClaimRetentionPolicy;
  podManagementPolicy?: string;
  replicas?: number;
  revisionHistoryLimit?: number;
  selector: LabelSelector;
  serviceName?: string;
  template: PodTemplateSpec;
  updateStrategy?: StatefulSetUpdateStrategy;
  volumeClaimTemplates?: PersistentVolumeClaim[];
};

export type StatefulSetStatus = {
  availableReplicas?: number;
  collisionCount?: number;
  conditions?: StatefulSetCondition[];
  currentReplicas?: number;
  currentRevision?: string;
  observedGeneration?: number;
  readyReplicas?: number;
  replicas: number;
  updateRevision?: string;
  updatedReplicas?: number;
};

export type StatefulSetUpdateStrategy = {
  rollingUpdate?: RollingUpdateStatefulSetStrategy;
  type?: string;
};

export type BoundObjectReference = {
  apiVersion?: string;
  kind?: string;
  name?: string;
  uid?: string;
};

export type SelfSubjectReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  status?: SelfSubjectReviewStatus;
};

export type SelfSubjectReviewStatus = {
  userInfo?: UserInfo;
};

export type TokenRequest = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: TokenRequestSpec;
  status?: TokenRequestStatus;
};

export type TokenRequestSpec = {
  audiences?: string[];
  boundObjectRef?: BoundObjectReference;
  expirationSeconds?: number;
};

export type TokenRequestStatus = {
  expirationTimestamp?: string;
  token?: string;
};

export type TokenReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: TokenReviewSpec;
  status?: TokenReviewStatus;
};

export type TokenReviewSpec = {
  audiences?: string[];
  token: string;
};

export type TokenReviewStatus = {
  audiences?: string[];
  authenticated?: boolean;
  error?: string;
  user?: UserInfo;
};

export type UserInfo = {
  extra?: Record<string, string[]>;
  groups?: string[];
  uid?: string;
  username?: string;
};

export type FieldSelectorAttributes = {
  rawSelector?: string;
  requirements?: FieldSelectorRequirement[];
};

export type LabelSelectorAttributes = {
  rawSelector?: string;
  requirements?: LabelSelectorRequirement[];
};

export type LocalSubjectAccessReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
};

export type NonResourceAttributes = {
  path?: string;
  verb?: string;
};

export type NonResourceRule = {
  nonResourceURLs?: string[];
  verbs: string[];
};

export type ResourceAttributes = {
  fieldSelector?: FieldSelectorAttributes;
  group?: string;
  labelSelector?: LabelSelectorAttributes;
  name?: string;
  namespace?: string;
  resource?: string;
  subresource?: string;
  verb?: string;
  version?: string;
};

export type ResourceRule = {
  apiGroups?: string[];
  resourceNames?: string[];
  resources?: string[];
  verbs: string[];
};

export type SelfSubjectAccessReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: SelfSubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
};

export type SelfSubjectAccessReviewSpec = {
  nonResourceAttributes?: NonResourceAttributes;
  resourceAttributes?: ResourceAttributes;
};

export type SelfSubjectRulesReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: SelfSubjectRulesReviewSpec;
  status?: SubjectRulesReviewStatus;
};

export type SelfSubjectRulesReviewSpec = {
  namespace?: string;
};

export type SubjectAccessReview = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: SubjectAccessReviewSpec;
  status?: SubjectAccessReviewStatus;
};

export type SubjectAccessReviewSpec = {
  extra?: Record<string, string[]>;
  groups?: string[];
  nonResourceAttributes?: NonResourceAttributes;
  resourceAttributes?: ResourceAttributes;
  uid?: string;
  user?: string;
};

export type SubjectAccessReviewStatus = {
  allowed: boolean;
  denied?: boolean;
  evaluationError?: string;
  reason?: string;
};

export type SubjectRulesReviewStatus = {
  evaluationError?: string;
  incomplete: boolean;
  nonResourceRules: NonResourceRule[];
  resourceRules: ResourceRule[];
};

export type AutoscalingCrossVersionObjectReference = {
  apiVersion?: string;
  kind: string;
  name: string;
};

export type AutoscalingHorizontalPodAutoscaler = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: AutoscalingHorizontalPodAutoscalerSpec;
  status?: AutoscalingHorizontalPodAutoscalerStatus;
};

export type AutoscalingHorizontalPodAutoscalerList = {
  apiVersion: string;
  items: AutoscalingHorizontalPodAutoscaler[];
  kind: string;
  metadata: ListMeta;
};

export type AutoscalingHorizontalPodAutoscalerSpec = {
  maxReplicas: number;
  minReplicas?: number;
  scaleTargetRef: AutoscalingCrossVersionObjectReference;
  targetCPUUtilizationPercentage?: number;
};

export type AutoscalingHorizontalPodAutoscalerStatus = {
  currentCPUUtilizationPercentage?: number;
  currentReplicas: number;
  desiredReplicas: number;
  lastScaleTime?: string;
  observedGeneration?: number;
};

export type Scale = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ScaleSpec;
  status?: ScaleStatus;
};

export type ScaleSpec = {
  replicas?: number;
};

export type ScaleStatus = {
  replicas: number;
  selector?: string;
};

export type ContainerResourceMetricSource = {
  container: string;
  name: string;
  target: MetricTarget;
};

export type ContainerResourceMetricStatus = {
  container: string;
  current: MetricValueStatus;
  name: string;
};

export type CrossVersionObjectReference = {
  apiVersion?: string;
  kind: string;
  name: string;
};

export type ExternalMetricSource = {
  metric: MetricIdentifier;
  target: MetricTarget;
};

export type ExternalMetricStatus = {
  current: MetricValueStatus;
  metric: MetricIdentifier;
};

export type HPAScalingPolicy = {
  periodSeconds: number;
  type: string;
  value: number;
};

export type HPAScalingRules = {
  policies?: HPAScalingPolicy[];
  selectPolicy?: string;
  stabilizationWindowSeconds?: number;
  tolerance?: string;
};

export type HorizontalPodAutoscaler = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: HorizontalPodAutoscalerSpec;
  status?: HorizontalPodAutoscalerStatus;
};

export type HorizontalPodAutoscalerBehavior = {
  scaleDown?: HPAScalingRules;
  scaleUp?: HPAScalingRules;
};

export type HorizontalPodAutoscalerCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type HorizontalPodAutoscalerList = {
  apiVersion: string;
  items: HorizontalPodAutoscaler[];
  kind: string;
  metadata: ListMeta;
};

export type HorizontalPodAutoscalerSpec = {
  behavior?: HorizontalPodAutoscalerBehavior;
  maxReplicas: number;
  metrics?: MetricSpec[];
  minReplicas?: number;
  scaleTargetRef: CrossVersionObjectReference;
};

export type HorizontalPodAutoscalerStatus = {
  conditions?: HorizontalPodAutoscalerCondition[];
  currentMetrics?: MetricStatus[];
  currentReplicas?: number;
  desiredReplicas: number;
  lastScaleTime?: string;
  observedGeneration?: number;
};

export type MetricIdentifier = {
  name: string;
  selector?: LabelSelector;
};

export type MetricSpec = {
  containerResource?: ContainerResourceMetricSource;
  external?: ExternalMetricSource;
  object?: ObjectMetricSource;
  pods?: PodsMetricSource;
  resource?: ResourceMetricSource;
  type: string;
};

export type MetricStatus = {
  containerResource?: ContainerResourceMetricStatus;
  external?: ExternalMetricStatus;
  object?: ObjectMetricStatus;
  pods?: PodsMetricStatus;
  resource?: ResourceMetricStatus;
  type: string;
};

export type MetricTarget = {
  averageUtilization?: number;
  averageValue?: string;
  type: string;
  value?: string;
};

export type MetricValueStatus = {
  averageUtilization?: number;
  averageValue?: string;
  value?: string;
};

export type ObjectMetricSource = {
  describedObject: CrossVersionObjectReference;
  metric: MetricIdentifier;
  target: MetricTarget;
};

export type ObjectMetricStatus = {
  current: MetricValueStatus;
  describedObject: CrossVersionObjectReference;
  metric: MetricIdentifier;
};

export type PodsMetricSource = {
  metric: MetricIdentifier;
  target: MetricTarget;
};

export type PodsMetricStatus = {
  current: MetricValueStatus;
  metric: MetricIdentifier;
};

export type ResourceMetricSource = {
  name: string;
  target: MetricTarget;
};

export type ResourceMetricStatus = {
  current: MetricValueStatus;
  name: string;
};

export type CronJob = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: CronJobSpec;
  status?: CronJobStatus;
};

export type CronJobList = {
  apiVersion: string;
  items: CronJob[];
  kind: string;
  metadata: ListMeta;
};

export type CronJobSpec = {
  concurrencyPolicy?: string;
  failedJobsHistoryLimit?: number;
  jobTemplate: JobTemplateSpec;
  schedule: string;
  startingDeadlineSeconds?: number;
  successfulJobsHistoryLimit?: number;
  suspend?: boolean;
  timeZone?: string;
};

export type CronJobStatus = {
  active?: ObjectReference[];
  lastScheduleTime?: string;
  lastSuccessfulTime?: string;
};

export type Job = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: JobSpec;
  status?: JobStatus;
};

export type JobCondition = {
  lastProbeTime?: string;
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type JobList = {
  apiVersion: string;
  items: Job[];
  kind: string;
  metadata: ListMeta;
};

export type JobSpec = {
  activeDeadlineSeconds?: number;
  backoffLimit?: number;
  backoffLimitPerIndex?: number;
  completionMode?: string;
  completions?: number;
  managedBy?: string;
  manualSelector?: boolean;
  maxFailedIndexes?: number;
  parallelism?: number;
  podFailurePolicy?: PodFailurePolicy;
  podReplacementPolicy?: string;
  selector?: LabelSelector;
  successPolicy?: SuccessPolicy;
  suspend?: boolean;
  template: PodTemplateSpec;
  ttlSecondsAfterFinished?: number;
};

export type JobStatus = {
  active?: number;
  completedIndexes?: string;
  completionTime?: string;
  conditions?: JobCondition[];
  failed?: number;
  failedIndexes?: string;
  ready?: number;
  startTime?: string;
  succeeded?: number;
  terminating?: number;
  uncountedTerminatedPods?: UncountedTerminatedPods;
};

export type JobTemplateSpec = {
  metadata?: ObjectMeta;
  spec?: JobSpec;
};

export type PodFailurePolicy = {
  rules: PodFailurePolicyRule[];
};

export type PodFailurePolicyOnExitCodesRequirement = {
  containerName?: string;
  operator: string;
  values: number[];
};

export type PodFailurePolicyOnPodConditionsPattern = {
  status?: string;
  type: string;
};

export type PodFailurePolicyRule = {
  action: string;
  onExitCodes?: PodFailurePolicyOnExitCodesRequirement;
  onPodConditions?: PodFailurePolicyOnPodConditionsPattern[];
};

export type SuccessPolicy = {
  rules: SuccessPolicyRule[];
};

export type SuccessPolicyRule = {
  succeededCount?: number;
  succeededIndexes?: string;
};

export type UncountedTerminatedPods = {
  failed?: string[];
  succeeded?: string[];
};

export type CertificateSigningRequest = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: CertificateSigningRequestSpec;
  status?: CertificateSigningRequestStatus;
};

export type CertificateSigningRequestCondition = {
  lastTransitionTime?: string;
  lastUpdateTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type CertificateSigningRequestList = {
  apiVersion: string;
  items: CertificateSigningRequest[];
  kind: string;
  metadata: ListMeta;
};

export type CertificateSigningRequestSpec = {
  expirationSeconds?: number;
  extra?: Record<string, string[]>;
  groups?: string[];
  request: string;
  signerName: string;
  uid?: string;
  usages?: string[];
  username?: string;
};

export type CertificateSigningRequestStatus = {
  certificate?: string;
  conditions?: CertificateSigningRequestCondition[];
};

export type Lease = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: LeaseSpec;
};

export type LeaseList = {
  apiVersion: string;
  items: Lease[];
  kind: string;
  metadata: ListMeta;
};

export type LeaseSpec = {
  acquireTime?: string;
  holderIdentity?: string;
  leaseDurationSeconds?: number;
  leaseTransitions?: number;
  preferredHolder?: string;
  renewTime?: string;
  strategy?: string;
};

export type AWSElasticBlockStoreVolumeSource = {
  fsType?: string;
  partition?: number;
  readOnly?: boolean;
  volumeID: string;
};

export type Affinity = {
  nodeAffinity?: NodeAffinity;
  podAffinity?: PodAffinity;
  podAntiAffinity?: PodAntiAffinity;
};

export type AppArmorProfile = {
  localhostProfile?: string;
  type: string;
};

export type AttachedVolume = {
  devicePath: string;
  name: string;
};

export type AzureDiskVolumeSource = {
  cachingMode?: string;
  diskName: string;
  diskURI: string;
  fsType?: string;
  kind?: string;
  readOnly?: boolean;
};

export type AzureFilePersistentVolumeSource = {
  readOnly?: boolean;
  secretName: string;
  secretNamespace?: string;
  shareName: string;
};

export type AzureFileVolumeSource = {
  readOnly?: boolean;
  secretName: string;
  shareName: string;
};

export type Binding = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  target: ObjectReference;
};

export type CSIPersistentVolumeSource = {
  controllerExpandSecretRef?: SecretReference;
  controllerPublishSecretRef?: SecretReference;
  driver: string;
  fsType?: string;
  nodeExpandSecretRef?: SecretReference;
  nodePublishSecretRef?: SecretReference;
  nodeStageSecretRef?: SecretReference;
  readOnly?: boolean;
  volumeAttributes?: Record<string, string>;
  volumeHandle: string;
};

export type CSIVolumeSource = {
  driver: string;
  fsType?: string;
  nodePublishSecretRef?: LocalObjectReference;
  readOnly?: boolean;
  volumeAttributes?: Record<string, string>;
};

export type Capabilities = {
  add?: string[];
  drop?: string[];
};

export type CephFSPersistentVolumeSource = {
  monitors: string[];
  path?: string;
  readOnly?: boolean;
  secretFile?: string;
  secretRef?: SecretReference;
  user?: string;
};

export type CephFSVolumeSource = {
  monitors: string[];
  path?: string;
  readOnly?: boolean;
  secretFile?: string;
  secretRef?: LocalObjectReference;
  user?: string;
};

export type CinderPersistentVolumeSource = {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: SecretReference;
  volumeID: string;
};

export type CinderVolumeSource = {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  volumeID: string;
};

export type ClientIPConfig = {
  timeoutSeconds?: number;
};

export type ClusterTrustBundleProjection = {
  labelSelector?: LabelSelector;
  name?: string;
  optional?: boolean;
  path: string;
  signerName?: string;
};

export type ComponentCondition = {
  error?: string;
  message?: string;
  status: string;
  type: string;
};

export type ComponentStatus = {
  apiVersion: string;
  conditions?: ComponentCondition[];
  kind: string;
  metadata: ObjectMeta;
};

export type ComponentStatusList = {
  apiVersion: string;
  items: ComponentStatus[];
  kind: string;
  metadata: ListMeta;
};

export type ConfigMap = {
  apiVersion: string;
  binaryData?: Record<string, string>;
  data?: Record<string, string>;
  immutable?: boolean;
  kind: string;
  metadata: ObjectMeta;
};

export type ConfigMapEnvSource = {
  name?: string;
  optional?: boolean;
};

export type ConfigMapKeySelector = {
  key: string;
  name?: string;
  optional?: boolean;
};

export type ConfigMapList = {
  apiVersion: string;
  items: ConfigMap[];
  kind: string;
  metadata: ListMeta;
};

export type ConfigMapNodeConfigSource = {
  kubeletConfigKey: string;
  name: string;
  namespace: string;
  resourceVersion?: string;
  uid?: string;
};

export type ConfigMapProjection = {
  items?: KeyToPath[];
  name?: string;
  optional?: boolean;
};

export type ConfigMapVolumeSource = {
  defaultMode?: number;
  items?: KeyToPath[];
  name?: string;
  optional?: boolean;
};

export type Container = {
  args?: string[];
  command?: string[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  image?: string;
  imagePullPolicy?: string;
  lifecycle?: Lifecycle;
  livenessProbe?: Probe;
  name: string;
  ports?: ContainerPort[];
  readinessProbe?: Probe;
  resizePolicy?: ContainerResizePolicy[];
  resources?: ResourceRequirements;
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  securityContext?: SecurityContext;
  startupProbe?: Probe;
  stdin?: boolean;
  stdinOnce?: boolean;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  tty?: boolean;
  volumeDevices?: VolumeDevice[];
  volumeMounts?: VolumeMount[];
  workingDir?: string;
};

export type ContainerExtendedResourceRequest = {
  containerName: string;
  requestName: string;
  resourceName: string;
};

export type ContainerImage = {
  names?: string[];
  sizeBytes?: number;
};

export type ContainerPort = {
  containerPort: number;
  hostIP?: string;
  hostPort?: number;
  name?: string;
  protocol?: string;
};

export type ContainerResizePolicy = {
  resourceName: string;
  restartPolicy: string;
};

export type ContainerRestartRule = {
  action: string;
  exitCodes?: ContainerRestartRuleOnExitCodes;
};

export type ContainerRestartRuleOnExitCodes = {
  operator: string;
  values?: number[];
};

export type ContainerState = {
  running?: ContainerStateRunning;
  terminated?: ContainerStateTerminated;
  waiting?: ContainerStateWaiting;
};

export type ContainerStateRunning = {
  startedAt?: string;
};

export type ContainerStateTerminated = {
  containerID?: string;
  exitCode: number;
  finishedAt?: string;
  message?: string;
  reason?: string;
  signal?: number;
  startedAt?: string;
};

export type ContainerStateWaiting = {
  message?: string;
  reason?: string;
};

export type ContainerStatus = {
  allocatedResources?: Record<string, string>;
  allocatedResourcesStatus?: ResourceStatus[];
  containerID?: string;
  image: string;
  imageID: string;
  lastState?: ContainerState;
  name: string;
  ready: boolean;
  resources?: ResourceRequirements;
  restartCount: number;
  started?: boolean;
  state?: ContainerState;
  stopSignal?: string;
  user?: ContainerUser;
  volumeMounts?: VolumeMountStatus[];
};

export type ContainerUser = {
  linux?: LinuxContainerUser;
};

export type DaemonEndpoint = {
  Port: number;
};

export type DownwardAPIProjection = {
  items?: DownwardAPIVolumeFile[];
};

export type DownwardAPIVolumeFile = {
  fieldRef?: ObjectFieldSelector;
  mode?: number;
  path: string;
  resourceFieldRef?: ResourceFieldSelector;
};

export type DownwardAPIVolumeSource = {
  defaultMode?: number;
  items?: DownwardAPIVolumeFile[];
};

export type EmptyDirVolumeSource = {
  medium?: string;
  sizeLimit?: string;
};

export type EndpointAddress = {
  hostname?: string;
  ip: string;
  nodeName?: string;
  targetRef?: ObjectReference;
};

export type EndpointPort = {
  appProtocol?: string;
  name?: string;
  port: number;
  protocol?: string;
};

export type EndpointSubset = {
  addresses?: EndpointAddress[];
  notReadyAddresses?: EndpointAddress[];
  ports?: EndpointPort[];
};

export type Endpoints = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  subsets?: EndpointSubset[];
};

export type EndpointsList = {
  apiVersion: string;
  items: Endpoints[];
  kind: string;
  metadata: ListMeta;
};

export type EnvFromSource = {
  configMapRef?: ConfigMapEnvSource;
  prefix?: string;
  secretRef?: SecretEnvSource;
};

export type EnvVar = {
  name: string;
  value?: string;
  valueFrom?: EnvVarSource;
};

export type EnvVarSource = {
  configMapKeyRef?: ConfigMapKeySelector;
  fieldRef?: ObjectFieldSelector;
  fileKeyRef?: FileKeySelector;
  resourceFieldRef?: ResourceFieldSelector;
  secretKeyRef?: SecretKeySelector;
};

export type EphemeralContainer = {
  args?: string[];
  command?: string[];
  env?: EnvVar[];
  envFrom?: EnvFromSource[];
  image?: string;
  imagePullPolicy?: string;
  lifecycle?: Lifecycle;
  livenessProbe?: Probe;
  name: string;
  ports?: ContainerPort[];
  readinessProbe?: Probe;
  resizePolicy?: ContainerResizePolicy[];
  resources?: ResourceRequirements;
  restartPolicy?: string;
  restartPolicyRules?: ContainerRestartRule[];
  securityContext?: SecurityContext;
  startupProbe?: Probe;
  stdin?: boolean;
  stdinOnce?: boolean;
  targetContainerName?: string;
  terminationMessagePath?: string;
  terminationMessagePolicy?: string;
  tty?: boolean;
  volumeDevices?: VolumeDevice[];
  volumeMounts?: VolumeMount[];
  workingDir?: string;
};

export type EphemeralVolumeSource = {
  volumeClaimTemplate?: PersistentVolumeClaimTemplate;
};

export type Event = {
  action?: string;
  apiVersion: string;
  count?: number;
  eventTime?: string;
  firstTimestamp?: string;
  involvedObject: ObjectReference;
  kind: string;
  lastTimestamp?: string;
  message?: string;
  metadata: ObjectMeta;
  reason?: string;
  related?: ObjectReference;
  reportingComponent?: string;
  reportingInstance?: string;
  series?: EventSeries;
  source?: EventSource;
  type?: string;
};

export type EventList = {
  apiVersion: string;
  items: Event[];
  kind: string;
  metadata: ListMeta;
};

export type EventSeries = {
  count?: number;
  lastObservedTime?: string;
};

export type EventSource = {
  component?: string;
  host?: string;
};

export type ExecAction = {
  command?: string[];
};

export type FCVolumeSource = {
  fsType?: string;
  lun?: number;
  readOnly?: boolean;
  targetWWNs?: string[];
  wwids?: string[];
};

export type FileKeySelector = {
  key: string;
  optional?: boolean;
  path: string;
  volumeName: string;
};

export type FlexPersistentVolumeSource = {
  driver: string;
  fsType?: string;
  options?: Record<string, string>;
  readOnly?: boolean;
  secretRef?: SecretReference;
};

export type FlexVolumeSource = {
  driver: string;
  fsType?: string;
  options?: Record<string, string>;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
};

export type FlockerVolumeSource = {
  datasetName?: string;
  datasetUUID?: string;
};

export type GCEPersistentDiskVolumeSource = {
  fsType?: string;
  partition?: number;
  pdName: string;
  readOnly?: boolean;
};

export type GRPCAction = {
  port: number;
  service?: string;
};

export type GitRepoVolumeSource = {
  directory?: string;
  repository: string;
  revision?: string;
};

export type GlusterfsPersistentVolumeSource = {
  endpoints: string;
  endpointsNamespace?: string;
  path: string;
  readOnly?: boolean;
};

export type GlusterfsVolumeSource = {
  endpoints: string;
  path: string;
  readOnly?: boolean;
};

export type HTTPGetAction = {
  host?: string;
  httpHeaders?: HTTPHeader[];
  path?: string;
  port: number | string;
  scheme?: string;
};

export type HTTPHeader = {
  name: string;
  value: string;
};

export type HostAlias = {
  hostnames?: string[];
  ip: string;
};

export type HostIP = {
  ip: string;
};

export type HostPathVolumeSource = {
  path: string;
  type?: string;
};

export type ISCSIPersistentVolumeSource = {
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  fsType?: string;
  initiatorName?: string;
  iqn: string;
  iscsiInterface?: string;
  lun: number;
  portals?: string[];
  readOnly?: boolean;
  secretRef?: SecretReference;
  targetPortal: string;
};

export type ISCSIVolumeSource = {
  chapAuthDiscovery?: boolean;
  chapAuthSession?: boolean;
  fsType?: string;
  initiatorName?: string;
  iqn: string;
  iscsiInterface?: string;
  lun: number;
  portals?: string[];
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  targetPortal: string;
};

export type ImageVolumeSource = {
  pullPolicy?: string;
  reference?: string;
};

export type ImageVolumeStatus = {
  imageRef: string;
};

export type KeyToPath = {
  key: string;
  mode?: number;
  path: string;
};

export type Lifecycle = {
  postStart?: LifecycleHandler;
  preStop?: LifecycleHandler;
  stopSignal?: string;
};

export type LifecycleHandler = {
  exec?: ExecAction;
  httpGet?: HTTPGetAction;
  sleep?: SleepAction;
  tcpSocket?: TCPSocketAction;
};

export type LimitRange = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: LimitRangeSpec;
};

export type LimitRangeItem = {
  default?: Record<string, string>;
  defaultRequest?: Record<string, string>;
  max?: Record<string, string>;
  maxLimitRequestRatio?: Record<string, string>;
  min?: Record<string, string>;
  type: string;
};

export type LimitRangeList = {
  apiVersion: string;
  items: LimitRange[];
  kind: string;
  metadata: ListMeta;
};

export type LimitRangeSpec = {
  limits: LimitRangeItem[];
};

export type LinuxContainerUser = {
  gid: number;
  supplementalGroups?: number[];
  uid: number;
};

export type LoadBalancerIngress = {
  hostname?: string;
  ip?: string;
  ipMode?: string;
  ports?: PortStatus[];
};

export type LoadBalancerStatus = {
  ingress?: LoadBalancerIngress[];
};

export type LocalObjectReference = {
  name?: string;
};

export type LocalVolumeSource = {
  fsType?: string;
  path: string;
};

export type ModifyVolumeStatus = {
  status: string;
  targetVolumeAttributesClassName?: string;
};

export type NFSVolumeSource = {
  path: string;
  readOnly?: boolean;
  server: string;
};

export type Namespace = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: NamespaceSpec;
  status?: NamespaceStatus;
};

export type NamespaceCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type NamespaceList = {
  apiVersion: string;
  items: Namespace[];
  kind: string;
  metadata: ListMeta;
};

export type NamespaceSpec = {
  finalizers?: string[];
};

export type NamespaceStatus = {
  conditions?: NamespaceCondition[];
  phase?: string;
};

export type Node = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: NodeSpec;
  status?: NodeStatus;
};

export type NodeAddress = {
  address: string;
  type: string;
};

export type NodeAffinity = {
  preferredDuringSchedulingIgnoredDuringExecution?: PreferredSchedulingTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: NodeSelector;
};

export type NodeAllocatableResourceClaimStatus = {
  containers?: string[];
  resourceClaimName: string;
  resources: Record<string, string>;
};

export type NodeCondition = {
  lastHeartbeatTime?: string;
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type NodeConfigSource = {
  configMap?: ConfigMapNodeConfigSource;
};

export type NodeConfigStatus = {
  active?: NodeConfigSource;
  assigned?: NodeConfigSource;
  error?: string;
  lastKnownGood?: NodeConfigSource;
};

export type NodeDaemonEndpoints = {
  kubeletEndpoint?: DaemonEndpoint;
};

export type NodeFeatures = {
  supplementalGroupsPolicy?: boolean;
};

export type NodeList = {
  apiVersion: string;
  items: Node[];
  kind: string;
  metadata: ListMeta;
};

export type NodeRuntimeHandler = {
  features?: NodeRuntimeHandlerFeatures;
  name?: string;
};

export type NodeRuntimeHandlerFeatures = {
  recursiveReadOnlyMounts?: boolean;
  userNamespaces?: boolean;
};

export type NodeSelector = {
  nodeSelectorTerms: NodeSelectorTerm[];
};

export type NodeSelectorRequirement = {
  key: string;
  operator: string;
  values?: string[];
};

export type NodeSelectorTerm = {
  matchExpressions?: NodeSelectorRequirement[];
  matchFields?: NodeSelectorRequirement[];
};

export type NodeSpec = {
  configSource?: NodeConfigSource;
  externalID?: string;
  podCIDR?: string;
  podCIDRs?: string[];
  providerID?: string;
  taints?: Taint[];
  unschedulable?: boolean;
};

export type NodeStatus = {
  addresses?: NodeAddress[];
  allocatable?: Record<string, string>;
  capacity?: Record<string, string>;
  conditions?: NodeCondition[];
  config?: NodeConfigStatus;
  daemonEndpoints?: NodeDaemonEndpoints;
  declaredFeatures?: string[];
  features?: NodeFeatures;
  images?: ContainerImage[];
  nodeInfo?: NodeSystemInfo;
  phase?: string;
  runtimeHandlers?: NodeRuntimeHandler[];
  volumesAttached?: AttachedVolume[];
  volumesInUse?: string[];
};

export type NodeSwapStatus = {
  capacity?: number;
};

export type NodeSystemInfo = {
  architecture: string;
  bootID: string;
  containerRuntimeVersion: string;
  kernelVersion: string;
  kubeProxyVersion: string;
  kubeletVersion: string;
  machineID: string;
  operatingSystem: string;
  osImage: string;
  swap?: NodeSwapStatus;
  systemUUID: string;
};

export type ObjectFieldSelector = {
  apiVersion?: string;
  fieldPath: string;
};

export type ObjectReference = {
  apiVersion?: string;
  fieldPath?: string;
  kind?: string;
  name?: string;
  namespace?: string;
  resourceVersion?: string;
  uid?: string;
};

export type PersistentVolume = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: PersistentVolumeSpec;
  status?: PersistentVolumeStatus;
};

export type PersistentVolumeClaim = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: PersistentVolumeClaimSpec;
  status?: PersistentVolumeClaimStatus;
};

export type PersistentVolumeClaimCondition = {
  lastProbeTime?: string;
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type PersistentVolumeClaimList = {
  apiVersion: string;
  items: PersistentVolumeClaim[];
  kind: string;
  metadata: ListMeta;
};

export type PersistentVolumeClaimSpec = {
  accessModes?: string[];
  dataSource?: TypedLocalObjectReference;
  dataSourceRef?: TypedObjectReference;
  resources?: VolumeResourceRequirements;
  selector?: LabelSelector;
  storageClassName?: string;
  volumeAttributesClassName?: string;
  volumeMode?: string;
  volumeName?: string;
};

export type PersistentVolumeClaimStatus = {
  accessModes?: string[];
  allocatedResourceStatuses?: Record<string, string>;
  allocatedResources?: Record<string, string>;
  capacity?: Record<string, string>;
  conditions?: PersistentVolumeClaimCondition[];
  currentVolumeAttributesClassName?: string;
  modifyVolumeStatus?: ModifyVolumeStatus;
  phase?: string;
};

export type PersistentVolumeClaimTemplate = {
  metadata?: ObjectMeta;
  spec: PersistentVolumeClaimSpec;
};

export type PersistentVolumeClaimVolumeSource = {
  claimName: string;
  readOnly?: boolean;
};

export type PersistentVolumeList = {
  apiVersion: string;
  items: PersistentVolume[];
  kind: string;
  metadata: ListMeta;
};

export type PersistentVolumeSpec = {
  accessModes?: string[];
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  azureFile?: AzureFilePersistentVolumeSource;
  capacity?: Record<string, string>;
  cephfs?: CephFSPersistentVolumeSource;
  cinder?: CinderPersistentVolumeSource;
  claimRef?: ObjectReference;
  csi?: CSIPersistentVolumeSource;
  fc?: FCVolumeSource;
  flexVolume?: FlexPersistentVolumeSource;
  flocker?: FlockerVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  glusterfs?: GlusterfsPersistentVolumeSource;
  hostPath?: HostPathVolumeSource;
  iscsi?: ISCSIPersistentVolumeSource;
  local?: LocalVolumeSource;
  mountOptions?: string[];
  nfs?: NFSVolumeSource;
  nodeAffinity?: VolumeNodeAffinity;
  persistentVolumeReclaimPolicy?: string;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  quobyte?: QuobyteVolumeSource;
  rbd?: RBDPersistentVolumeSource;
  scaleIO?: ScaleIOPersistentVolumeSource;
  storageClassName?: string;
  storageos?: StorageOSPersistentVolumeSource;
  volumeAttributesClassName?: string;
  volumeMode?: string;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
};

export type PersistentVolumeStatus = {
  lastPhaseTransitionTime?: string;
  message?: string;
  phase?: string;
  reason?: string;
};

export type PhotonPersistentDiskVolumeSource = {
  fsType?: string;
  pdID: string;
};

export type Pod = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: PodSpec;
  status?: PodStatus;
};

export type PodAffinity = {
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
};

export type PodAffinityTerm = {
  labelSelector?: LabelSelector;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
  namespaceSelector?: LabelSelector;
  namespaces?: string[];
  topologyKey: string;
};

export type PodAntiAffinity = {
  preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
  requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
};

export type PodCertificateProjection = {
  certificateChainPath?: string;
  credentialBundlePath?: string;
  keyPath?: string;
  keyType: string;
  maxExpirationSeconds?: number;
  signerName: string;
  userAnnotations?: Record<string, string>;
};

export type PodCondition = {
  lastProbeTime?: string;
  lastTransitionTime?: string;
  message?: string;
  observedGeneration?: number;
  reason?: string;
  status: string;
  type: string;
};

export type PodDNSConfig = {
  nameservers?: string[];
  options?: PodDNSConfigOption[];
  searches?: string[];
};

export type PodDNSConfigOption = {
  name?: string;
  value?: string;
};

export type PodExtendedResourceClaimStatus = {
  requestMappings: ContainerExtendedResourceRequest[];
  resourceClaimName: string;
};

export type PodIP = {
  ip: string;
};

export type PodList = {
  apiVersion: string;
  items: Pod[];
  kind: string;
  metadata: ListMeta;
};

export type PodOS = {
  name: string;
};

export type PodReadinessGate = {
  conditionType: string;
};

export type PodResourceClaim = {
  name: string;
  resourceClaimName?: string;
  resourceClaimTemplateName?: string;
};

export type PodResourceClaimStatus = {
  name: string;
  resourceClaimName?: string;
};

export type PodSchedulingGate = {
  name: string;
};

export type PodSchedulingGroup = {
  podGroupName?: string;
};

export type PodSecurityContext = {
  appArmorProfile?: AppArmorProfile;
  fsGroup?: number;
  fsGroupChangePolicy?: string;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seLinuxChangePolicy?: string;
  seLinuxOptions?: SELinuxOptions;
  seccompProfile?: SeccompProfile;
  supplementalGroups?: number[];
  supplementalGroupsPolicy?: string;
  sysctls?: Sysctl[];
  windowsOptions?: WindowsSecurityContextOptions;
};

export type PodSpec = {
  activeDeadlineSeconds?: number;
  affinity?: Affinity;
  automountServiceAccountToken?: boolean;
  containers: Container[];
  dnsConfig?: PodDNSConfig;
  dnsPolicy?: string;
  enableServiceLinks?: boolean;
  ephemeralContainers?: EphemeralContainer[];
  hostAliases?: HostAlias[];
  hostIPC?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostUsers?: boolean;
  hostname?: string;
  hostnameOverride?: string;
  imagePullSecrets?: LocalObjectReference[];
  initContainers?: Container[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  os?: PodOS;
  overhead?: Record<string, string>;
  preemptionPolicy?: string;
  priority?: number;
  priorityClassName?: string;
  readinessGates?: PodReadinessGate[];
  resourceClaims?: PodResourceClaim[];
  resources?: ResourceRequirements;
  restartPolicy?: string;
  runtimeClassName?: string;
  schedulerName?: string;
  schedulingGates?: PodSchedulingGate[];
  schedulingGroup?: PodSchedulingGroup;
  securityContext?: PodSecurityContext;
  serviceAccount?: string;
  serviceAccountName?: string;
  setHostnameAsFQDN?: boolean;
  shareProcessNamespace?: boolean;
  subdomain?: string;
  terminationGracePeriodSeconds?: number;
  tolerations?: Toleration[];
  topologySpreadConstraints?: TopologySpreadConstraint[];
  volumes?: Volume[];
};

export type PodStatus = {
  allocatedResources?: Record<string, string>;
  conditions?: PodCondition[];
  containerStatuses?: ContainerStatus[];
  ephemeralContainerStatuses?: ContainerStatus[];
  extendedResourceClaimStatus?: PodExtendedResourceClaimStatus;
  hostIP?: string;
  hostIPs?: HostIP[];
  initContainerStatuses?: ContainerStatus[];
  message?: string;
  nodeAllocatableResourceClaimStatuses?: NodeAllocatableResourceClaimStatus[];
  nominatedNodeName?: string;
  observedGeneration?: number;
  phase?: string;
  podIP?: string;
  podIPs?: PodIP[];
  qosClass?: string;
  reason?: string;
  resize?: string;
  resourceClaimStatuses?: PodResourceClaimStatus[];
  resources?: ResourceRequirements;
  startTime?: string;
};

export type PodTemplate = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  template?: PodTemplateSpec;
};

export type PodTemplateList = {
  apiVersion: string;
  items: PodTemplate[];
  kind: string;
  metadata: ListMeta;
};

export type PodTemplateSpec = {
  metadata?: ObjectMeta;
  spec?: PodSpec;
};

export type PortStatus = {
  error?: string;
  port: number;
  protocol: string;
};

export type PortworxVolumeSource = {
  fsType?: string;
  readOnly?: boolean;
  volumeID: string;
};

export type PreferredSchedulingTerm = {
  preference: NodeSelectorTerm;
  weight: number;
};

export type Probe = {
  exec?: ExecAction;
  failureThreshold?: number;
  grpc?: GRPCAction;
  httpGet?: HTTPGetAction;
  initialDelaySeconds?: number;
  periodSeconds?: number;
  successThreshold?: number;
  tcpSocket?: TCPSocketAction;
  terminationGracePeriodSeconds?: number;
  timeoutSeconds?: number;
};

export type ProjectedVolumeSource = {
  defaultMode?: number;
  sources?: VolumeProjection[];
};

export type QuobyteVolumeSource = {
  group?: string;
  readOnly?: boolean;
  registry: string;
  tenant?: string;
  user?: string;
  volume: string;
};

export type RBDPersistentVolumeSource = {
  fsType?: string;
  image: string;
  keyring?: string;
  monitors: string[];
  pool?: string;
  readOnly?: boolean;
  secretRef?: SecretReference;
  user?: string;
};

export type RBDVolumeSource = {
  fsType?: string;
  image: string;
  keyring?: string;
  monitors: string[];
  pool?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  user?: string;
};

export type ReplicationController = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ReplicationControllerSpec;
  status?: ReplicationControllerStatus;
};

export type ReplicationControllerCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type ReplicationControllerList = {
  apiVersion: string;
  items: ReplicationController[];
  kind: string;
  metadata: ListMeta;
};

export type ReplicationControllerSpec = {
  minReadySeconds?: number;
  replicas?: number;
  selector?: Record<string, string>;
  template?: PodTemplateSpec;
};

export type ReplicationControllerStatus = {
  availableReplicas?: number;
  conditions?: ReplicationControllerCondition[];
  fullyLabeledReplicas?: number;
  observedGeneration?: number;
  readyReplicas?: number;
  replicas: number;
};

export type ResourceClaim = {
  name: string;
  request?: string;
};

export type ResourceFieldSelector = {
  containerName?: string;
  divisor?: string;
  resource: string;
};

export type ResourceHealth = {
  health?: string;
  message?: string;
  resourceID: string;
};

export type ResourceQuota = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ResourceQuotaSpec;
  status?: ResourceQuotaStatus;
};

export type ResourceQuotaList = {
  apiVersion: string;
  items: ResourceQuota[];
  kind: string;
  metadata: ListMeta;
};

export type ResourceQuotaSpec = {
  hard?: Record<string, string>;
  scopeSelector?: ScopeSelector;
  scopes?: string[];
};

export type ResourceQuotaStatus = {
  hard?: Record<string, string>;
  used?: Record<string, string>;
};

export type ResourceRequirements = {
  claims?: ResourceClaim[];
  limits?: Record<string, string>;
  requests?: Record<string, string>;
};

export type ResourceStatus = {
  name: string;
  resources?: ResourceHealth[];
};

export type SELinuxOptions = {
  level?: string;
  role?: string;
  type?: string;
  user?: string;
};

export type ScaleIOPersistentVolumeSource = {
  fsType?: string;
  gateway: string;
  protectionDomain?: string;
  readOnly?: boolean;
  secretRef: SecretReference;
  sslEnabled?: boolean;
  storageMode?: string;
  storagePool?: string;
  system: string;
  volumeName?: string;
};

export type ScaleIOVolumeSource = {
  fsType?: string;
  gateway: string;
  protectionDomain?: string;
  readOnly?: boolean;
  secretRef: LocalObjectReference;
  sslEnabled?: boolean;
  storageMode?: string;
  storagePool?: string;
  system: string;
  volumeName?: string;
};

export type ScopeSelector = {
  matchExpressions?: ScopedResourceSelectorRequirement[];
};

export type ScopedResourceSelectorRequirement = {
  operator: string;
  scopeName: string;
  values?: string[];
};

export type SeccompProfile = {
  localhostProfile?: string;
  type: string;
};

export type Secret = {
  apiVersion: string;
  data?: Record<string, string>;
  immutable?: boolean;
  kind: string;
  metadata: ObjectMeta;
  stringData?: Record<string, string>;
  type?: string;
};

export type SecretEnvSource = {
  name?: string;
  optional?: boolean;
};

export type SecretKeySelector = {
  key: string;
  name?: string;
  optional?: boolean;
};

export type SecretList = {
  apiVersion: string;
  items: Secret[];
  kind: string;
  metadata: ListMeta;
};

export type SecretProjection = {
  items?: KeyToPath[];
  name?: string;
  optional?: boolean;
};

export type SecretReference = {
  name?: string;
  namespace?: string;
};

export type SecretVolumeSource = {
  defaultMode?: number;
  items?: KeyToPath[];
  optional?: boolean;
  secretName?: string;
};

export type SecurityContext = {
  allowPrivilegeEscalation?: boolean;
  appArmorProfile?: AppArmorProfile;
  capabilities?: Capabilities;
  privileged?: boolean;
  procMount?: string;
  readOnlyRootFilesystem?: boolean;
  runAsGroup?: number;
  runAsNonRoot?: boolean;
  runAsUser?: number;
  seLinuxOptions?: SELinuxOptions;
  seccompProfile?: SeccompProfile;
  windowsOptions?: WindowsSecurityContextOptions;
};

export type Service = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ServiceSpec;
  status?: ServiceStatus;
};

export type ServiceAccount = {
  apiVersion: string;
  automountServiceAccountToken?: boolean;
  imagePullSecrets?: LocalObjectReference[];
  kind: string;
  metadata: ObjectMeta;
  secrets?: ObjectReference[];
};

export type ServiceAccountList = {
  apiVersion: string;
  items: ServiceAccount[];
  kind: string;
  metadata: ListMeta;
};

export type ServiceAccountTokenProjection = {
  audience?: string;
  expirationSeconds?: number;
  path: string;
};

export type ServiceList = {
  apiVersion: string;
  items: Service[];
  kind: string;
  metadata: ListMeta;
};

export type ServicePort = {
  appProtocol?: string;
  name?: string;
  nodePort?: number;
  port: number;
  protocol?: string;
  targetPort?: number | string;
};

export type ServiceSpec = {
  allocateLoadBalancerNodePorts?: boolean;
  clusterIP?: string;
  clusterIPs?: string[];
  externalIPs?: string[];
  externalName?: string;
  externalTrafficPolicy?: string;
  healthCheckNodePort?: number;
  internalTrafficPolicy?: string;
  ipFamilies?: string[];
  ipFamilyPolicy?: string;
  loadBalancerClass?: string;
  loadBalancerIP?: string;
  loadBalancerSourceRanges?: string[];
  ports?: ServicePort[];
  publishNotReadyAddresses?: boolean;
  selector?: Record<string, string>;
  sessionAffinity?: string;
  sessionAffinityConfig?: SessionAffinityConfig;
  trafficDistribution?: string;
  type?: string;
};

export type ServiceStatus = {
  conditions?: Condition[];
  loadBalancer?: LoadBalancerStatus;
};

export type SessionAffinityConfig = {
  clientIP?: ClientIPConfig;
};

export type SleepAction = {
  seconds: number;
};

export type StorageOSPersistentVolumeSource = {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: ObjectReference;
  volumeName?: string;
  volumeNamespace?: string;
};

export type StorageOSVolumeSource = {
  fsType?: string;
  readOnly?: boolean;
  secretRef?: LocalObjectReference;
  volumeName?: string;
  volumeNamespace?: string;
};

export type Sysctl = {
  name: string;
  value: string;
};

export type TCPSocketAction = {
  host?: string;
  port: number | string;
};

export type Taint = {
  effect: string;
  key: string;
  timeAdded?: string;
  value?: string;
};

export type Toleration = {
  effect?: string;
  key?: string;
  operator?: string;
  tolerationSeconds?: number;
  value?: string;
};

export type TopologySelectorLabelRequirement = {
  key: string;
  values: string[];
};

export type TopologySelectorTerm = {
  matchLabelExpressions?: TopologySelectorLabelRequirement[];
};

export type TopologySpreadConstraint = {
  labelSelector?: LabelSelector;
  matchLabelKeys?: string[];
  maxSkew: number;
  minDomains?: number;
  nodeAffinityPolicy?: string;
  nodeTaintsPolicy?: string;
  topologyKey: string;
  whenUnsatisfiable: string;
};

export type TypedLocalObjectReference = {
  apiGroup?: string;
  kind: string;
  name: string;
};

export type TypedObjectReference = {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
};

export type Volume = {
  awsElasticBlockStore?: AWSElasticBlockStoreVolumeSource;
  azureDisk?: AzureDiskVolumeSource;
  azureFile?: AzureFileVolumeSource;
  cephfs?: CephFSVolumeSource;
  cinder?: CinderVolumeSource;
  configMap?: ConfigMapVolumeSource;
  csi?: CSIVolumeSource;
  downwardAPI?: DownwardAPIVolumeSource;
  emptyDir?: EmptyDirVolumeSource;
  ephemeral?: EphemeralVolumeSource;
  fc?: FCVolumeSource;
  flexVolume?: FlexVolumeSource;
  flocker?: FlockerVolumeSource;
  gcePersistentDisk?: GCEPersistentDiskVolumeSource;
  gitRepo?: GitRepoVolumeSource;
  glusterfs?: GlusterfsVolumeSource;
  hostPath?: HostPathVolumeSource;
  image?: ImageVolumeSource;
  iscsi?: ISCSIVolumeSource;
  name: string;
  nfs?: NFSVolumeSource;
  persistentVolumeClaim?: PersistentVolumeClaimVolumeSource;
  photonPersistentDisk?: PhotonPersistentDiskVolumeSource;
  portworxVolume?: PortworxVolumeSource;
  projected?: ProjectedVolumeSource;
  quobyte?: QuobyteVolumeSource;
  rbd?: RBDVolumeSource;
  scaleIO?: ScaleIOVolumeSource;
  secret?: SecretVolumeSource;
  storageos?: StorageOSVolumeSource;
  vsphereVolume?: VsphereVirtualDiskVolumeSource;
};

export type VolumeDevice = {
  devicePath: string;
  name: string;
};

export type VolumeMount = {
  mountPath: string;
  mountPropagation?: string;
  name: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  subPath?: string;
  subPathExpr?: string;
};

export type VolumeMountStatus = {
  mountPath: string;
  name: string;
  readOnly?: boolean;
  recursiveReadOnly?: string;
  volumeStatus?: VolumeStatus;
};

export type VolumeNodeAffinity = {
  required?: NodeSelector;
};

export type VolumeProjection = {
  clusterTrustBundle?: ClusterTrustBundleProjection;
  configMap?: ConfigMapProjection;
  downwardAPI?: DownwardAPIProjection;
  podCertificate?: PodCertificateProjection;
  secret?: SecretProjection;
  serviceAccountToken?: ServiceAccountTokenProjection;
};

export type VolumeResourceRequirements = {
  limits?: Record<string, string>;
  requests?: Record<string, string>;
};

export type VolumeStatus = {
  image?: ImageVolumeStatus;
};

export type VsphereVirtualDiskVolumeSource = {
  fsType?: string;
  storagePolicyID?: string;
  storagePolicyName?: string;
  volumePath: string;
};

export type WeightedPodAffinityTerm = {
  podAffinityTerm: PodAffinityTerm;
  weight: number;
};

export type WindowsSecurityContextOptions = {
  gmsaCredentialSpec?: string;
  gmsaCredentialSpecName?: string;
  hostProcess?: boolean;
  runAsUserName?: string;
};

export type Endpoint = {
  addresses: string[];
  conditions?: EndpointConditions;
  deprecatedTopology?: Record<string, string>;
  hints?: EndpointHints;
  hostname?: string;
  nodeName?: string;
  targetRef?: ObjectReference;
  zone?: string;
};

export type EndpointConditions = {
  ready?: boolean;
  serving?: boolean;
  terminating?: boolean;
};

export type EndpointHints = {
  forNodes?: ForNode[];
  forZones?: ForZone[];
};

export type DiscoveryEndpointPort = {
  appProtocol?: string;
  name?: string;
  port?: number;
  protocol?: string;
};

export type EndpointSlice = {
  addressType: string;
  apiVersion: string;
  endpoints?: Endpoint[];
  kind: string;
  metadata: ObjectMeta;
  ports?: DiscoveryEndpointPort[];
};

export type EndpointSliceList = {
  apiVersion: string;
  items: EndpointSlice[];
  kind: string;
  metadata: ListMeta;
};

export type ForNode = {
  name: string;
};

export type ForZone = {
  name: string;
};

export type EventsEvent = {
  action?: string;
  apiVersion: string;
  deprecatedCount?: number;
  deprecatedFirstTimestamp?: string;
  deprecatedLastTimestamp?: string;
  deprecatedSource?: EventSource;
  eventTime: string;
  kind: string;
  metadata: ObjectMeta;
  note?: string;
  reason?: string;
  regarding?: ObjectReference;
  related?: ObjectReference;
  reportingController?: string;
  reportingInstance?: string;
  series?: EventsEventSeries;
  type?: string;
};

export type EventsEventList = {
  apiVersion: string;
  items: EventsEvent[];
  kind: string;
  metadata: ListMeta;
};

export type EventsEventSeries = {
  count: number;
  lastObservedTime: string;
};

export type ExemptPriorityLevelConfiguration = {
  lendablePercent?: number;
  nominalConcurrencyShares?: number;
};

export type FlowDistinguisherMethod = {
  type: string;
};

export type FlowSchema = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: FlowSchemaSpec;
  status?: FlowSchemaStatus;
};

export type FlowSchemaCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status?: string;
  type?: string;
};

export type FlowSchemaList = {
  apiVersion: string;
  items: FlowSchema[];
  kind: string;
  metadata: ListMeta;
};

export type FlowSchemaSpec = {
  distinguisherMethod?: FlowDistinguisherMethod;
  matchingPrecedence?: number;
  priorityLevelConfiguration: PriorityLevelConfigurationReference;
  rules?: PolicyRulesWithSubjects[];
};

export type FlowSchemaStatus = {
  conditions?: FlowSchemaCondition[];
};

export type GroupSubject = {
  name: string;
};

export type LimitResponse = {
  queuing?: QueuingConfiguration;
  type: string;
};

export type LimitedPriorityLevelConfiguration = {
  borrowingLimitPercent?: number;
  lendablePercent?: number;
  limitResponse?: LimitResponse;
  nominalConcurrencyShares?: number;
};

export type NonResourcePolicyRule = {
  nonResourceURLs: string[];
  verbs: string[];
};

export type PolicyRulesWithSubjects = {
  nonResourceRules?: NonResourcePolicyRule[];
  resourceRules?: ResourcePolicyRule[];
  subjects: FlowcontrolSubject[];
};

export type PriorityLevelConfiguration = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: PriorityLevelConfigurationSpec;
  status?: PriorityLevelConfigurationStatus;
};

export type PriorityLevelConfigurationCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status?: string;
  type?: string;
};

export type PriorityLevelConfigurationList = {
  apiVersion: string;
  items: PriorityLevelConfiguration[];
  kind: string;
  metadata: ListMeta;
};

export type PriorityLevelConfigurationReference = {
  name: string;
};

export type PriorityLevelConfigurationSpec = {
  exempt?: ExemptPriorityLevelConfiguration;
  limited?: LimitedPriorityLevelConfiguration;
  type: string;
};

export type PriorityLevelConfigurationStatus = {
  conditions?: PriorityLevelConfigurationCondition[];
};

export type QueuingConfiguration = {
  handSize?: number;
  queueLengthLimit?: number;
  queues?: number;
};

export type ResourcePolicyRule = {
  apiGroups: string[];
  clusterScope?: boolean;
  namespaces?: string[];
  resources: string[];
  verbs: string[];
};

export type ServiceAccountSubject = {
  name: string;
  namespace: string;
};

export type FlowcontrolSubject = {
  group?: GroupSubject;
  kind: string;
  serviceAccount?: ServiceAccountSubject;
  user?: UserSubject;
};

export type UserSubject = {
  name: string;
};

export type HTTPIngressPath = {
  backend: IngressBackend;
  path?: string;
  pathType: string;
};

export type HTTPIngressRuleValue = {
  paths: HTTPIngressPath[];
};

export type IPAddress = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: IPAddressSpec;
};

export type IPAddressList = {
  apiVersion: string;
  items: IPAddress[];
  kind: string;
  metadata: ListMeta;
};

export type IPAddressSpec = {
  parentRef: ParentReference;
};

export type IPBlock = {
  cidr: string;
  except?: string[];
};

export type Ingress = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: IngressSpec;
  status?: IngressStatus;
};

export type IngressBackend = {
  resource?: TypedLocalObjectReference;
  service?: IngressServiceBackend;
};

export type IngressClass = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: IngressClassSpec;
};

export type IngressClassList = {
  apiVersion: string;
  items: IngressClass[];
  kind: string;
  metadata: ListMeta;
};

export type IngressClassParametersReference = {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
  scope?: string;
};

export type IngressClassSpec = {
  controller?: string;
  parameters?: IngressClassParametersReference;
};

export type IngressList = {
  apiVersion: string;
  items: Ingress[];
  kind: string;
  metadata: ListMeta;
};

export type IngressLoadBalancerIngress = {
  hostname?: string;
  ip?: string;
  ports?: IngressPortStatus[];
};

export type IngressLoadBalancerStatus = {
  ingress?: IngressLoadBalancerIngress[];
};

export type IngressPortStatus = {
  error?: string;
  port: number;
  protocol: string;
};

export type IngressRule = {
  host?: string;
  http?: HTTPIngressRuleValue;
};

export type IngressServiceBackend = {
  name: string;
  port?: ServiceBackendPort;
};

export type IngressSpec = {
  defaultBackend?: IngressBackend;
  ingressClassName?: string;
  rules?: IngressRule[];
  tls?: IngressTLS[];
};

export type IngressStatus = {
  loadBalancer?: IngressLoadBalancerStatus;
};

export type IngressTLS = {
  hosts?: string[];
  secretName?: string;
};

export type NetworkPolicy = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: NetworkPolicySpec;
};

export type NetworkPolicyEgressRule = {
  ports?: NetworkPolicyPort[];
  to?: NetworkPolicyPeer[];
};

export type NetworkPolicyIngressRule = {
  from?: NetworkPolicyPeer[];
  ports?: NetworkPolicyPort[];
};

export type NetworkPolicyList = {
  apiVersion: string;
  items: NetworkPolicy[];
  kind: string;
  metadata: ListMeta;
};

export type NetworkPolicyPeer = {
  ipBlock?: IPBlock;
  namespaceSelector?: LabelSelector;
  podSelector?: LabelSelector;
};

export type NetworkPolicyPort = {
  endPort?: number;
  port?: number | string;
  protocol?: string;
};

export type NetworkPolicySpec = {
  egress?: NetworkPolicyEgressRule[];
  ingress?: NetworkPolicyIngressRule[];
  podSelector?: LabelSelector;
  policyTypes?: string[];
};

export type ParentReference = {
  group?: string;
  name: string;
  namespace?: string;
  resource: string;
};

export type ServiceBackendPort = {
  name?: string;
  number?: number;
};

export type ServiceCIDR = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: ServiceCIDRSpec;
  status?: ServiceCIDRStatus;
};

export type ServiceCIDRList = {
  apiVersion: string;
  items: ServiceCIDR[];
  kind: string;
  metadata: ListMeta;
};

export type ServiceCIDRSpec = {
  cidrs?: string[];
};

export type ServiceCIDRStatus = {
  conditions?: Condition[];
};

export type Overhead = {
  podFixed?: Record<string, string>;
};

export type RuntimeClass = {
  apiVersion: string;
  handler: string;
  kind: string;
  metadata: ObjectMeta;
  overhead?: Overhead;
  scheduling?: Scheduling;
};

export type RuntimeClassList = {
  apiVersion: string;
  items: RuntimeClass[];
  kind: string;
  metadata: ListMeta;
};

export type Scheduling = {
  nodeSelector?: Record<string, string>;
  tolerations?: Toleration[];
};

export type Eviction = {
  apiVersion: string;
  deleteOptions?: DeleteOptions;
  kind: string;
  metadata: ObjectMeta;
};

export type PodDisruptionBudget = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: PodDisruptionBudgetSpec;
  status?: PodDisruptionBudgetStatus;
};

export type PodDisruptionBudgetList = {
  apiVersion: string;
  items: PodDisruptionBudget[];
  kind: string;
  metadata: ListMeta;
};

export type PodDisruptionBudgetSpec = {
  maxUnavailable?: number | string;
  minAvailable?: number | string;
  selector?: LabelSelector;
  unhealthyPodEvictionPolicy?: string;
};

export type PodDisruptionBudgetStatus = {
  conditions?: Condition[];
  currentHealthy?: number;
  desiredHealthy?: number;
  disruptedPods?: Record<string, string>;
  disruptionsAllowed?: number;
  expectedPods?: number;
  observedGeneration?: number;
};

export type AggregationRule = {
  clusterRoleSelectors?: LabelSelector[];
};

export type ClusterRole = {
  aggregationRule?: AggregationRule;
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  rules?: PolicyRule[];
};

export type ClusterRoleBinding = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  roleRef: RoleRef;
  subjects?: Subject[];
};

export type ClusterRoleBindingList = {
  apiVersion: string;
  items: ClusterRoleBinding[];
  kind: string;
  metadata: ListMeta;
};

export type ClusterRoleList = {
  apiVersion: string;
  items: ClusterRole[];
  kind: string;
  metadata: ListMeta;
};

export type PolicyRule = {
  apiGroups?: string[];
  nonResourceURLs?: string[];
  resourceNames?: string[];
  resources?: string[];
  verbs: string[];
};

export type Role = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  rules?: PolicyRule[];
};

export type RoleBinding = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  roleRef: RoleRef;
  subjects?: Subject[];
};

export type RoleBindingList = {
  apiVersion: string;
  items: RoleBinding[];
  kind: string;
  metadata: ListMeta;
};

export type RoleList = {
  apiVersion: string;
  items: Role[];
  kind: string;
  metadata: ListMeta;
};

export type RoleRef = {
  apiGroup?: string;
  kind: string;
  name: string;
};

export type Subject = {
  apiGroup?: string;
  kind: string;
  name: string;
  namespace?: string;
};

export type AllocatedDeviceStatus = {
  conditions?: Condition[];
  data?: Record<string, unknown>;
  device: string;
  driver: string;
  networkData?: NetworkDeviceData;
  pool: string;
  shareID?: string;
};

export type AllocationResult = {
  allocationTimestamp?: string;
  devices?: DeviceAllocationResult;
  nodeSelector?: NodeSelector;
};

export type CELDeviceSelector = {
  expression: string;
};

export type CapacityRequestPolicy = {
  default?: string;
  validRange?: CapacityRequestPolicyRange;
  validValues?: string[];
};

export type CapacityRequestPolicyRange = {
  max?: string;
  min: string;
  step?: string;
};

export type CapacityRequirements = {
  requests?: Record<string, string>;
};

export type Counter = {
  value: string;
};

export type CounterSet = {
  counters: Record<string, Counter>;
  name: string;
};

export type Device = {
  allNodes?: boolean;
  allowMultipleAllocations?: boolean;
  attributes?: Record<string, DeviceAttribute>;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  bindsToNode?: boolean;
  capacity?: Record<string, DeviceCapacity>;
  consumesCounters?: DeviceCounterConsumption[];
  name: string;
  nodeAllocatableResourceMappings?: Record<string, NodeAllocatableResourceMapping>;
  nodeName?: string;
  nodeSelector?: NodeSelector;
  taints?: DeviceTaint[];
};

export type DeviceAllocationConfiguration = {
  opaque?: OpaqueDeviceConfiguration;
  requests?: string[];
  source: string;
};

export type DeviceAllocationResult = {
  config?: DeviceAllocationConfiguration[];
  results?: DeviceRequestAllocationResult[];
};

export type DeviceAttribute = {
  bool?: boolean;
  bools?: boolean[];
  int?: number;
  ints?: number[];
  string?: string;
  strings?: string[];
  version?: string;
  versions?: string[];
};

export type DeviceCapacity = {
  requestPolicy?: CapacityRequestPolicy;
  value: string;
};

export type DeviceClaim = {
  config?: DeviceClaimConfiguration[];
  constraints?: DeviceConstraint[];
  requests?: DeviceRequest[];
};

export type DeviceClaimConfiguration = {
  opaque?: OpaqueDeviceConfiguration;
  requests?: string[];
};

export type DeviceClass = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: DeviceClassSpec;
};

export type DeviceClassConfiguration = {
  opaque?: OpaqueDeviceConfiguration;
};

export type DeviceClassList = {
  apiVersion: string;
  items: DeviceClass[];
  kind: string;
  metadata: ListMeta;
};

export type DeviceClassSpec = {
  config?: DeviceClassConfiguration[];
  extendedResourceName?: string;
  selectors?: DeviceSelector[];
};

export type DeviceConstraint = {
  distinctAttribute?: string;
  matchAttribute?: string;
  requests?: string[];
};

export type DeviceCounterConsumption = {
  counterSet: string;
  counters: Record<string, Counter>;
};

export type DeviceRequest = {
  exactly?: ExactDeviceRequest;
  firstAvailable?: DeviceSubRequest[];
  name: string;
};

export type DeviceRequestAllocationResult = {
  adminAccess?: boolean;
  bindingConditions?: string[];
  bindingFailureConditions?: string[];
  consumedCapacity?: Record<string, string>;
  device: string;
  driver: string;
  pool: string;
  request: string;
  shareID?: string;
  tolerations?: DeviceToleration[];
};

export type DeviceSelector = {
  cel?: CELDeviceSelector;
};

export type DeviceSubRequest = {
  allocationMode?: string;
  capacity?: CapacityRequirements;
  count?: number;
  deviceClassName: string;
  name: string;
  selectors?: DeviceSelector[];
  tolerations?: DeviceToleration[];
};

export type DeviceTaint = {
  effect: string;
  key: string;
  timeAdded?: string;
  value?: string;
};

export type DeviceToleration = {
  effect?: string;
  key?: string;
  operator?: string;
  tolerationSeconds?: number;
  value?: string;
};

export type ExactDeviceRequest = {
  adminAccess?: boolean;
  allocationMode?: string;
  capacity?: CapacityRequirements;
  count?: number;
  deviceClassName: string;
  selectors?: DeviceSelector[];
  tolerations?: DeviceToleration[];
};

export type NetworkDeviceData = {
  hardwareAddress?: string;
  interfaceName?: string;
  ips?: string[];
};

export type NodeAllocatableResourceMapping = {
  allocationMultiplier?: string;
  capacityKey?: string;
};

export type OpaqueDeviceConfiguration = {
  driver: string;
  parameters: Record<string, unknown>;
};

export type ResourceResourceClaim = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ResourceClaimSpec;
  status?: ResourceClaimStatus;
};

export type ResourceClaimConsumerReference = {
  apiGroup?: string;
  name: string;
  resource: string;
  uid: string;
};

export type ResourceClaimList = {
  apiVersion: string;
  items: ResourceResourceClaim[];
  kind: string;
  metadata: ListMeta;
};

export type ResourceClaimSpec = {
  devices?: DeviceClaim;
};

export type ResourceClaimStatus = {
  allocation?: AllocationResult;
  devices?: AllocatedDeviceStatus[];
  reservedFor?: ResourceClaimConsumerReference[];
};

export type ResourceClaimTemplate = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ResourceClaimTemplateSpec;
};

export type ResourceClaimTemplateList = {
  apiVersion: string;
  items: ResourceClaimTemplate[];
  kind: string;
  metadata: ListMeta;
};

export type ResourceClaimTemplateSpec = {
  metadata?: ObjectMeta;
  spec: ResourceClaimSpec;
};

export type ResourcePool = {
  generation: number;
  name: string;
  resourceSliceCount: number;
};

export type ResourceSlice = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: ResourceSliceSpec;
};

export type ResourceSliceList = {
  apiVersion: string;
  items: ResourceSlice[];
  kind: string;
  metadata: ListMeta;
};

export type ResourceSliceSpec = {
  allNodes?: boolean;
  devices?: Device[];
  driver: string;
  nodeName?: string;
  nodeSelector?: NodeSelector;
  perDeviceNodeSelection?: boolean;
  pool: ResourcePool;
  sharedCounters?: CounterSet[];
};

export type PriorityClass = {
  apiVersion: string;
  description?: string;
  globalDefault?: boolean;
  kind: string;
  metadata: ObjectMeta;
  preemptionPolicy?: string;
  value?: number;
};

export type PriorityClassList = {
  apiVersion: string;
  items: PriorityClass[];
  kind: string;
  metadata: ListMeta;
};

export type CSIDriver = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: CSIDriverSpec;
};

export type CSIDriverList = {
  apiVersion: string;
  items: CSIDriver[];
  kind: string;
  metadata: ListMeta;
};

export type CSIDriverSpec = {
  attachRequired?: boolean;
  fsGroupPolicy?: string;
  nodeAllocatableUpdatePeriodSeconds?: number;
  podInfoOnMount?: boolean;
  preventPodSchedulingIfMissing?: boolean;
  requiresRepublish?: boolean;
  seLinuxMount?: boolean;
  serviceAccountTokenInSecrets?: boolean;
  storageCapacity?: boolean;
  tokenRequests?: StorageTokenRequest[];
  volumeLifecycleModes?: string[];
};

export type CSINode = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: CSINodeSpec;
};

export type CSINodeDriver = {
  allocatable?: VolumeNodeResources;
  name: string;
  nodeID: string;
  topologyKeys?: string[];
};

export type CSINodeList = {
  apiVersion: string;
  items: CSINode[];
  kind: string;
  metadata: ListMeta;
};

export type CSINodeSpec = {
  drivers: CSINodeDriver[];
};

export type CSIStorageCapacity = {
  apiVersion: string;
  capacity?: string;
  kind: string;
  maximumVolumeSize?: string;
  metadata: ObjectMeta;
  nodeTopology?: LabelSelector;
  storageClassName: string;
};

export type CSIStorageCapacityList = {
  apiVersion: string;
  items: CSIStorageCapacity[];
  kind: string;
  metadata: ListMeta;
};

export type StorageClass = {
  allowVolumeExpansion?: boolean;
  allowedTopologies?: TopologySelectorTerm[];
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  mountOptions?: string[];
  parameters?: Record<string, string>;
  provisioner: string;
  reclaimPolicy?: string;
  volumeBindingMode?: string;
};

export type StorageClassList = {
  apiVersion: string;
  items: StorageClass[];
  kind: string;
  metadata: ListMeta;
};

export type StorageTokenRequest = {
  audience: string;
  expirationSeconds?: number;
};

export type VolumeAttachment = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: VolumeAttachmentSpec;
  status?: VolumeAttachmentStatus;
};

export type VolumeAttachmentList = {
  apiVersion: string;
  items: VolumeAttachment[];
  kind: string;
  metadata: ListMeta;
};

export type VolumeAttachmentSource = {
  inlineVolumeSpec?: PersistentVolumeSpec;
  persistentVolumeName?: string;
};

export type VolumeAttachmentSpec = {
  attacher: string;
  nodeName: string;
  source: VolumeAttachmentSource;
};

export type VolumeAttachmentStatus = {
  attachError?: VolumeError;
  attached: boolean;
  attachmentMetadata?: Record<string, string>;
  detachError?: VolumeError;
};

export type VolumeAttributesClass = {
  apiVersion: string;
  driverName: string;
  kind: string;
  metadata: ObjectMeta;
  parameters?: Record<string, string>;
};

export type VolumeAttributesClassList = {
  apiVersion: string;
  items: VolumeAttributesClass[];
  kind: string;
  metadata: ListMeta;
};

export type VolumeError = {
  errorCode?: number;
  message?: string;
  time?: string;
};

export type VolumeNodeResources = {
  count?: number;
};

export type CustomResourceColumnDefinition = {
  description?: string;
  format?: string;
  jsonPath: string;
  name: string;
  priority?: number;
  type: string;
};

export type CustomResourceConversion = {
  strategy: string;
  webhook?: WebhookConversion;
};

export type CustomResourceDefinition = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: CustomResourceDefinitionSpec;
  status?: CustomResourceDefinitionStatus;
};

export type CustomResourceDefinitionCondition = {
  lastTransitionTime?: string;
  message?: string;
  observedGeneration?: number;
  reason?: string;
  status: string;
  type: string;
};

export type CustomResourceDefinitionList = {
  apiVersion: string;
  items: CustomResourceDefinition[];
  kind: string;
  metadata: ListMeta;
};

export type CustomResourceDefinitionNames = {
  categories?: string[];
  kind: string;
  listKind?: string;
  plural: string;
  shortNames?: string[];
  singular?: string;
};

export type CustomResourceDefinitionSpec = {
  conversion?: CustomResourceConversion;
  group: string;
  names: CustomResourceDefinitionNames;
  preserveUnknownFields?: boolean;
  scope: string;
  versions: CustomResourceDefinitionVersion[];
};

export type CustomResourceDefinitionStatus = {
  acceptedNames?: CustomResourceDefinitionNames;
  conditions?: CustomResourceDefinitionCondition[];
  observedGeneration?: number;
  storedVersions?: string[];
};

export type CustomResourceDefinitionVersion = {
  additionalPrinterColumns?: CustomResourceColumnDefinition[];
  deprecated?: boolean;
  deprecationWarning?: string;
  name: string;
  schema?: CustomResourceValidation;
  selectableFields?: SelectableField[];
  served: boolean;
  storage: boolean;
  subresources?: CustomResourceSubresources;
};

export type CustomResourceSubresourceScale = {
  labelSelectorPath?: string;
  specReplicasPath: string;
  statusReplicasPath: string;
};

export type CustomResourceSubresourceStatus = Record<string, unknown>;

export type CustomResourceSubresources = {
  scale?: CustomResourceSubresourceScale;
  status?: CustomResourceSubresourceStatus;
};

export type CustomResourceValidation = {
  openAPIV3Schema?: JSONSchemaProps;
};

export type ExternalDocumentation = {
  description?: string;
  url?: string;
};

export type JSON = unknown;

export type JSONSchemaProps = {
  "$ref"?: string;
  "$schema"?: string;
  additionalItems?: JSONSchemaPropsOrBool;
  additionalProperties?: JSONSchemaPropsOrBool;
  allOf?: JSONSchemaProps[];
  anyOf?: JSONSchemaProps[];
  default?: JSON;
  definitions?: Record<string, JSONSchemaProps>;
  dependencies?: Record<string, JSONSchemaPropsOrStringArray>;
  description?: string;
  enum?: JSON[];
  example?: JSON;
  exclusiveMaximum?: boolean;
  exclusiveMinimum?: boolean;
  externalDocs?: ExternalDocumentation;
  format?: string;
  id?: string;
  items?: JSONSchemaPropsOrArray;
  maxItems?: number;
  maxLength?: number;
  maxProperties?: number;
  maximum?: number;
  minItems?: number;
  minLength?: number;
  minProperties?: number;
  minimum?: number;
  multipleOf?: number;
  not?: JSONSchemaProps;
  nullable?: boolean;
  oneOf?: JSONSchemaProps[];
  pattern?: string;
  patternProperties?: Record<string, JSONSchemaProps>;
  properties?: Record<string, JSONSchemaProps>;
  required?: string[];
  title?: string;
  type?: string;
  uniqueItems?: boolean;
  "x-kubernetes-embedded-resource"?: boolean;
  "x-kubernetes-int-or-string"?: boolean;
  "x-kubernetes-list-map-keys"?: string[];
  "x-kubernetes-list-type"?: string;
  "x-kubernetes-map-type"?: string;
  "x-kubernetes-preserve-unknown-fields"?: boolean;
  "x-kubernetes-validations"?: ValidationRule[];
};

export type JSONSchemaPropsOrArray = unknown;

export type JSONSchemaPropsOrBool = unknown;

export type JSONSchemaPropsOrStringArray = unknown;

export type SelectableField = {
  jsonPath: string;
};

export type ApiextensionsServiceReference = {
  name: string;
  namespace: string;
  path?: string;
  port?: number;
};

export type ValidationRule = {
  fieldPath?: string;
  message?: string;
  messageExpression?: string;
  optionalOldSelf?: boolean;
  reason?: string;
  rule: string;
};

export type ApiextensionsWebhookClientConfig = {
  caBundle?: string;
  service?: ApiextensionsServiceReference;
  url?: string;
};

export type WebhookConversion = {
  clientConfig?: ApiextensionsWebhookClientConfig;
  conversionReviewVersions: string[];
};

export type APIResource = {
  categories?: string[];
  group?: string;
  kind: string;
  name: string;
  namespaced: boolean;
  shortNames?: string[];
  singularName: string;
  storageVersionHash?: string;
  verbs: string[];
  version?: string;
};

export type APIResourceList = {
  apiVersion?: string;
  groupVersion: string;
  kind?: string;
  resources: APIResource[];
};

export type Condition = {
  lastTransitionTime: string;
  message: string;
  observedGeneration?: number;
  reason: string;
  status: string;
  type: string;
};

export type DeleteOptions = {
  apiVersion?: string;
  dryRun?: string[];
  gracePeriodSeconds?: number;
  ignoreStoreReadErrorWithClusterBreakingPotential?: boolean;
  kind?: string;
  orphanDependents?: boolean;
  preconditions?: Preconditions;
  propagationPolicy?: string;
};

export type FieldSelectorRequirement = {
  key: string;
  operator: string;
  values?: string[];
};

export type LabelSelector = {
  matchExpressions?: LabelSelectorRequirement[];
  matchLabels?: Record<string, string>;
};

export type LabelSelectorRequirement = {
  key: string;
  operator: string;
  values?: string[];
};

export type ListMeta = {
  continue?: string;
  remainingItemCount?: number;
  resourceVersion?: string;
  selfLink?: string;
  shardInfo?: ShardInfo;
};

export type ManagedFieldsEntry = {
  apiVersion?: string;
  fieldsType?: string;
  fieldsV1?: Record<string, unknown>;
  manager?: string;
  operation?: string;
  subresource?: string;
  time?: string;
};

export type ObjectMeta = {
  annotations?: Record<string, string>;
  creationTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  deletionTimestamp?: string;
  finalizers?: string[];
  generateName?: string;
  generation?: number;
  labels?: Record<string, string>;
  managedFields?: ManagedFieldsEntry[];
  name?: string;
  namespace?: string;
  ownerReferences?: OwnerReference[];
  resourceVersion?: string;
  selfLink?: string;
  uid?: string;
};

export type OwnerReference = {
  apiVersion: string;
  blockOwnerDeletion?: boolean;
  controller?: boolean;
  kind: string;
  name: string;
  uid: string;
};

export type Preconditions = {
  resourceVersion?: string;
  uid?: string;
};

export type ShardInfo = {
  selector: string;
};

export type Status = {
  apiVersion: string;
  code?: number;
  details?: StatusDetails;
  kind: string;
  message?: string;
  metadata: ListMeta;
  reason?: string;
  status?: string;
};

export type StatusCause = {
  field?: string;
  message?: string;
  reason?: string;
};

export type StatusDetails = {
  causes?: StatusCause[];
  group?: string;
  kind?: string;
  name?: string;
  retryAfterSeconds?: number;
  uid?: string;
};

export type WatchEvent = {
  object: Record<string, unknown>;
  type: string;
};

export type APIService = {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: APIServiceSpec;
  status?: APIServiceStatus;
};

export type APIServiceCondition = {
  lastTransitionTime?: string;
  message?: string;
  reason?: string;
  status: string;
  type: string;
};

export type APIServiceList = {
  apiVersion: string;
  items: APIService[];
  kind: string;
  metadata: ListMeta;
};

export type APIServiceSpec = {
  caBundle?: string;
  group?: string;
  groupPriorityMinimum: number;
  insecureSkipTLSVerify?: boolean;
  service?: ApiregistrationServiceReference;
  version?: string;
  versionPriority: number;
};

export type APIServiceStatus = {
  conditions?: APIServiceCondition[];
};

export type ApiregistrationServiceReference = {
  name?: string;
  namespace?: string;
  port?: number;
};
