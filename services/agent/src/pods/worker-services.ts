import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';
import type { AtMostOne } from '../fencing/at-most-one.ts';
import type { Fence } from '../fencing/fence.ts';
import type { Owner } from '../runtime/labels.ts';
import type { ImagePuller } from '../images/image-puller.ts';
import type { PulledImages } from '../images/pulled-images.ts';
import type { HostFiles } from '../runtime/host-files.ts';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { ProbeTools } from '../probes/probe-runner.ts';
import type { StatusReporter } from '../status/status-reporter.ts';
import type { UsageSampler } from '../usage/usage-sampler.ts';
import type { Evictions } from '../eviction/evictions.ts';
import type { StorageEvictor } from '../eviction/storage-evictor.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';
import type { ImageUsers } from './image-users.ts';
import type { ImageVolumes } from './image-volumes.ts';
import type { AddressPool } from './address-pool.ts';
import type { ConfigSource } from '../spec/config-source.ts';
import type { NodeResolver } from '../spec/dns.ts';
import type { NodeFacts } from '../spec/field-values.ts';
import type { ConfigWatch } from '../sources/config-watch.ts';
import type { ServiceSource } from '../sources/service-source.ts';
import type { PodView } from '../sources/pod-source.ts';
import type { ContainerSpec } from '../runtime/containers.ts';
import type { SeccompProfiles } from './seccomp-profiles.ts';
import type { Slots } from './slots.ts';
import type { StepLog } from './step-log.ts';
import type { FreshnessGate } from './freshness-gate.ts';
import type { NodeAdmission } from './node-admission.ts';

/** Services for ending pods, used by a node's own workers and by those that clean up for an agent that is gone. */
export interface EndServices {
  readonly owner: Owner;
  readonly facts: NodeFacts;
  readonly runtime: Runtime;
  readonly client: ObjectClient;
  readonly pods: PodView;
  readonly gate: FreshnessGate;
  /** The gate for static pods. */
  readonly staticGate: FreshnessGate;
  readonly volumes: Pick<PodVolumes, 'release' | 'readRecord' | 'writeRecord'>;
  readonly addresses: Pick<AddressPool, 'rest'>;
  readonly events: EventRecorder;
  /** Receives what the workers do. */
  readonly steps: Pick<StepLog, 'begin' | 'backOff'>;
  /** Limits how many containers are removed at once. */
  readonly removals: Slots;
  /** The current run of the machine. */
  readonly machineStart: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** Services for starting and ending pods. */
export interface StartServices extends Omit<EndServices, 'volumes' | 'addresses'> {
  readonly resolver: NodeResolver;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly hostFiles: HostFiles;
  readonly podNetwork: string;
  readonly seccomp: Pick<SeccompProfiles, 'read'>;
  /** The limit of each container. */
  readonly processLimit: ContainerSpec['processLimit'];
  readonly sandboxImage: string;
  readonly baseEnvironment: Readonly<Record<string, string>>;
  /** The Services for the variables of containers. */
  readonly linkedServices: Pick<ServiceSource, 'inNamespaces' | 'run'>;
  readonly volumes: Pick<
    PodVolumes,
    'sync' | 'mounts' | 'imageFolder' | 'text' | 'terminationMessage' | 'end' | 'release' | 'readRecord' | 'writeRecord'
  >;
  readonly config: ConfigSource;
  /** Watches the objects of the API in volumes. */
  readonly configs: Pick<ConfigWatch, 'follow' | 'changesOf' | 'subscribe'>;
  readonly imageVolumes: ImageVolumes;
  /** Resolves the users of images. */
  readonly imageUsers: ImageUsers;
  readonly puller: ImagePuller;
  readonly pulled: PulledImages;
  readonly addresses: AddressPool;
  /** Knows which pods must never run twice. */
  readonly atMostOne: Pick<AtMostOne, 'judge' | 'of' | 'forget'>;
  /** Closed while this node does not hold its Lease: containers of pods that run at most once start only while it is open. */
  readonly leaseGate: FreshnessGate;
  /** Limits how many containers are created and started at once. */
  readonly startSlots: Slots;
}

/** Components that measure, judge and report running pods. */
export interface PodObservers {
  readonly reporter: Pick<StatusReporter, 'report' | 'run'>;
  /** Receives the running containers of a pod. */
  readonly usage: Pick<UsageSampler, 'observe'>;
  readonly evictions: Pick<Evictions, 'evictionOf' | 'takeOver' | 'isReclaimed' | 'subscribe' | 'forget'>;
  readonly evictor: Pick<StorageEvictor, 'observe' | 'forget' | 'run'>;
  /** Whether this node is cut off from the control plane. */
  readonly fence: Pick<Fence, 'link' | 'holdsLease' | 'subscribe'>;
  /** Decides which pods the node takes. */
  readonly admission: Pick<NodeAdmission, 'judge' | 'forget'>;
  readonly probes: ProbeTools;
  /** The longest delay before a restart of a container, in milliseconds. */
  readonly maxRestartDelayMs: number;
}

/** The services that the workers of a node's own pods share. */
export interface WorkerServices extends StartServices {
  readonly observers: PodObservers;
}
