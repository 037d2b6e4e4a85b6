import type { Clock, Random } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { EventRecorder } from '@gantry/controller-runtime';
import type { Logger } from '@gantry/service';
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
import type { FreshnessGate } from './freshness-gate.ts';
import type { NodeAdmission } from './node-admission.ts';

/** What the workers of one node share. */
export interface WorkerServices {
  /** `cleanup`: in place of a dead agent. Only deleted pods are acted on, and nothing is reported. */
  readonly mode: 'run' | 'cleanup';
  readonly owner: Owner;
  readonly facts: NodeFacts;
  readonly resolver: NodeResolver;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly hostFiles: HostFiles;
  readonly podNetwork: string;
  readonly seccomp: Pick<SeccompProfiles, 'read'>;
  /** Of each container. */
  readonly processLimit: ContainerSpec['processLimit'];
  readonly sandboxImage: string;
  readonly baseEnvironment: Readonly<Record<string, string>>;
  readonly services: Pick<ServiceSource, 'inNamespaces' | 'run'>;
  readonly runtime: Runtime;
  readonly client: ObjectClient;
  readonly pods: PodView;
  readonly gate: FreshnessGate;
  /** The same for static pods. */
  readonly staticGate: FreshnessGate;
  readonly reporter: Pick<StatusReporter, 'report' | 'run'>;
  /** Hears which containers of a pod run. */
  readonly usage: Pick<UsageSampler, 'observe'>;
  readonly volumes: Pick<
    PodVolumes,
    'sync' | 'mounts' | 'imageFolder' | 'text' | 'terminationMessage' | 'end' | 'release'
  >;
  readonly config: ConfigSource;
  readonly evictions: Pick<Evictions, 'evictionOf' | 'isReclaimed' | 'subscribe' | 'forget'>;
  readonly evictor: Pick<StorageEvictor, 'observe' | 'forget' | 'run'>;
  /** Which pods the node takes. */
  readonly admission: Pick<NodeAdmission, 'judge' | 'forget'>;
  /** Follows what volumes show of the API. */
  readonly configs: Pick<ConfigWatch, 'follow' | 'changesOf' | 'subscribe'>;
  readonly imageVolumes: ImageVolumes;
  /** Who the users of images are. */
  readonly imageUsers: ImageUsers;
  readonly puller: ImagePuller;
  readonly pulled: PulledImages;
  readonly addresses: AddressPool;
  readonly events: EventRecorder;
  /** Bounds how many containers are created and started at once. */
  readonly starts: Slots;
  /** Bounds how many containers are removed at once. */
  readonly removals: Slots;
  readonly probes: ProbeTools;
  /** The longest delay before a restart of a container. */
  readonly maxRestartDelayMs: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}
