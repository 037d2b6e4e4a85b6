import type { ControllerSpec } from '@gantry/controller-runtime';
import { admissionPolicyStatusController } from './controllers/admission-policy-status/controller.ts';
import { clusterRoleAggregationController } from './controllers/clusterrole-aggregation/controller.ts';
import { createCronJobController } from './controllers/cronjob/controller.ts';
import { createCsrSigningController, type CsrSigningOptions } from './controllers/csr-signing/controller.ts';
import { createDaemonSetController } from './controllers/daemon-set/controller.ts';
import { deploymentController } from './controllers/deployment/controller.ts';
import { createDisruptionController, staleDisruptionController } from './controllers/disruption/controller.ts';
import { createEndpointSliceMirroringController } from './controllers/endpoint-slice-mirroring/controller.ts';
import { createEndpointSliceController } from './controllers/endpoint-slice/controller.ts';
import { createEndpointsController } from './controllers/endpoints/controller.ts';
import { createEphemeralVolumeController } from './controllers/ephemeral-volume/controller.ts';
import { createGarbageCollector } from './controllers/garbage-collector/controller.ts';
import { createHorizontalPodAutoscalerController } from './controllers/horizontal-pod-autoscaler/controller.ts';
import type { ReadPath } from './controllers/horizontal-pod-autoscaler/scale-reader.shell.ts';
import { createJobController } from './controllers/job/controller.ts';
import { legacyTokenCleaner } from './controllers/legacy-token-cleaner/controller.ts';
import { createLoadBalancerController, type LoadBalancerOptions } from './controllers/load-balancer/controller.ts';
import { createLocalPathController, type LocalPathOptions } from './controllers/local-path/controller.ts';
import { namespaceController } from './controllers/namespace/controller.ts';
import { createNodeLifecycleController } from './controllers/node-lifecycle/controller.ts';
import type { EvictionRates } from './controllers/node-lifecycle/zones.ts';
import { createNodeTtlController } from './controllers/node-ttl/controller.ts';
import { createNodeIpamController } from './controllers/nodeipam/controller.ts';
import type { NodeRanges } from './controllers/nodeipam/node-ranges.ts';
import { createPersistentVolumeController } from './controllers/persistent-volume/controller.ts';
import { createPodGcController, createTerminatedPodGcController } from './controllers/pod-gc/controller.ts';
import { createReplicaSetController, createReplicationController } from './controllers/replica-set/controller.ts';
import { resourceQuotaController } from './controllers/resource-quota/controller.ts';
import { createRootCaController } from './controllers/root-ca/controller.ts';
import { serviceAccountController } from './controllers/service-account/controller.ts';
import { statefulSetController } from './controllers/stateful-set/controller.ts';
import { createTaintEvictionController } from './controllers/taint-eviction/controller.ts';
import { createTokenSecretController } from './controllers/token-secret/controller.ts';
import { createTtlAfterFinishedController } from './controllers/ttl-after-finished/controller.ts';
import { volumeExpansionController } from './controllers/volume-expansion/controller.ts';
import {
  attributesProtectionController,
  createClaimProtectionController,
  volumeProtectionController,
} from './controllers/volume-protection/controller.ts';
import type { Meters } from './metrics/meters.ts';

/** The options from which controllers are created. */
export interface RegistryOptions extends CsrSigningOptions, LoadBalancerOptions {
  /** Returns the newest PEM of the cluster's CA. */
  readonly readCa: () => string;
  readonly nodeGraceMs: number;
  /** The maximum number of finished pods; 12,500 when absent. */
  readonly maxFinishedPods?: number;
  /** `EVICTION_RATES` when absent. */
  readonly evictionRates?: EvictionRates;
  /** The parts of the cluster range that hosts get for their pods. */
  readonly nodeRanges: NodeRanges;
  readonly localPath: LocalPathOptions;
  /** Reads paths that are not resources of the API server itself: metrics, and scales of any kind. */
  readonly readPath: ReadPath;
  readonly meters: Meters;
}

/** All control loops of the controller-manager. A new one needs a folder and a line here. */
export function createControllers(options: RegistryOptions): readonly ControllerSpec[] {
  return [
    createCsrSigningController(options),
    createNodeLifecycleController({
      graceMs: options.nodeGraceMs,
      meter: options.meters.nodes,
      rates: options.evictionRates,
    }),
    createPersistentVolumeController(options.meters.volumes),
    createNodeIpamController({ ranges: options.nodeRanges, meter: options.meters.ranges }),
    createNodeTtlController(),
    createPodGcController(options.meters.podGc),
    createTerminatedPodGcController(options.meters.podGc, options.maxFinishedPods),
    createRootCaController(options.readCa, options.meters.rootCa),
    admissionPolicyStatusController,
    attributesProtectionController,
    createClaimProtectionController(),
    volumeExpansionController,
    volumeProtectionController,
    clusterRoleAggregationController,
    createDaemonSetController(),
    deploymentController,
    createDisruptionController(),
    staleDisruptionController,
    createEndpointsController(),
    createEndpointSliceController(options.meters.slices),
    createEndpointSliceMirroringController(options.meters.mirrors),
    createEphemeralVolumeController(options.meters.ephemeralVolumes),
    createGarbageCollector(options.meters.garbage),
    createCronJobController(options.meters.cronJob),
    createJobController(options.meters.job),
    legacyTokenCleaner,
    createLoadBalancerController(options),
    createLocalPathController(options.localPath),
    createHorizontalPodAutoscalerController(options.readPath, options.meters.autoscaler),
    namespaceController,
    createReplicaSetController(options.meters.podSets),
    createReplicationController(options.meters.podSets),
    resourceQuotaController,
    serviceAccountController,
    statefulSetController,
    createTaintEvictionController(options.meters.taintEviction),
    createTokenSecretController(options.readCa),
    createTtlAfterFinishedController(options.meters.ttl),
  ];
}
