import { SeccompProfiles } from '../pods/seccomp-profiles.ts';
import { join } from 'node:path';
import type { Clock } from '@gantry/base';
import type { ObjectClient } from '@gantry/client';
import type { FakeObjectClient } from '@gantry/client/testing';
import { type Node, type Pod, PODS } from '@gantry/objects';
import type { EventRecorder } from '@gantry/controller-runtime';
import { createLogger } from '@gantry/service';
import { onTestFinished } from 'vitest';
import type { NodePressure } from '../spec/node-pressure.ts';
import type { EngineInfo, EnginePrivilege } from '../runtime/engine.ts';
import type { Owner } from '../runtime/labels.ts';
import type { RuntimeObserver } from '../runtime/observer.ts';
import type { HostMounts } from '../runtime/host-mounts.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { apiConfigSource, apiClaimSource } from '../sources/api-config-source.ts';
import { ConfigWatch } from '../sources/config-watch.ts';
import { ServiceSource } from '../sources/service-source.ts';
import { PodSource } from '../sources/pod-source.ts';
import { TokenSource } from '../sources/token-source.ts';
import { ImageUsers } from '../pods/image-users.ts';
import { ImageVolumes } from '../pods/image-volumes.ts';
import { unsharedPulls } from '../images/host-pulls.ts';
import { ImagePuller } from '../images/image-puller.ts';
import { PulledImages } from '../images/pulled-images.ts';
import { linuxHostFiles } from '../mounts/linux-host-files.ts';
import { NodeSource } from '../sources/node-source.ts';
import { NodePodView } from '../static-pods/node-pod-view.ts';
import { StatusReporter } from '../status/status-reporter.ts';
import { nodeFacts, RESOLVER } from './pods.ts';
import { UsageSampler } from '../usage/usage-sampler.ts';
import { PersistentFolders } from '../volumes/persistent-folders.ts';
import { PodVolumes } from '../volumes/pod-volumes.ts';
import { AtMostOne } from '../fencing/at-most-one.ts';
import { UNFENCED } from '../fencing/fence.ts';
import { AddressPool } from '../pods/address-pool.ts';
import { FreshnessGate } from '../pods/freshness-gate.ts';
import { NodeAdmission } from '../pods/node-admission.ts';
import { PodWorker } from '../pods/pod-worker.ts';
import { ProbeMetrics } from '../probes/probe-metrics.ts';
import { TimerWheel } from '../probes/timer-wheel.ts';
import { Evictions } from '../eviction/evictions.ts';
import { StorageEvictor } from '../eviction/storage-evictor.ts';
import { Slots, startSlots, commandLimits } from '../pods/slots.ts';
import { StepLog } from '../pods/step-log.ts';
import type { WorkerServices } from '../pods/worker-services.ts';

/** The environment of a node: its engine, its disk and its API server. */
export interface NodeHost {
  readonly owner: Owner;
  readonly clock: Clock;
  readonly api: FakeObjectClient;
  /** The agent's connection to its API server. */
  readonly client: ObjectClient;
  /** The agent's connection to its engine. */
  readonly runtime: Runtime;
  /** The observer whose events notify workers. */
  readonly observer: Pick<RuntimeObserver, 'watch'>;
  readonly mounts: HostMounts;
  /** The path of its state folder. */
  readonly path: string;
  /** The root of the host's files. */
  readonly root: string;
  /** The Node until the API server has one of its name. */
  readonly node: () => Node;
  readonly engine: EngineInfo;
  readonly privilege: EnginePrivilege;
  readonly sandboxImage: string;
  readonly podNetwork: string;
  readonly podCidr: string;
  /** How many containers are started at once, and how many are removed at once. */
  readonly parallelCalls: number;
  /** The pressures of the node. */
  readonly pressures: () => readonly NodePressure[];
  /** The fence, and the tenure of its Lease; absent: it is connected for ever. */
  readonly fence?: WorkerServices['observers']['fence'];
  readonly tenure?: () => number | undefined;
}

/** A node and its operations for tests. */
export interface AssembledNode {
  readonly owner: Owner;
  readonly mounts: HostMounts;
  readonly client: FakeObjectClient;
  readonly pods: NodePodView;
  /** `TYPE REASON MESSAGE` of each recorded Event. */
  readonly events: readonly string[];
  readonly runtime: Runtime;
  readonly services: WorkerServices;
  readonly steps: StepLog;
  readonly volumes: PodVolumes;
  readonly evictor: StorageEvictor;
  readonly evictions: Evictions;
  readonly usage: UsageSampler;
  /** The path of its state folder. */
  readonly path: string;
  readonly stop: AbortController;
  /** Creates the object of a pod that is bound to this node. */
  readonly put: (pod: Pod) => Promise<Pod>;
  /** Runs a worker for a pod. Each event of the API and the runtime notifies it. It can be stopped separately. */
  readonly work: (uid: string, abort?: AbortSignal) => PodWorker;
  /** Stops the agent's work, and waits for its end. The end of the test does this too. */
  readonly end: () => Promise<void>;
}

/** Assembles an agent on a host, with the parts that run pods. It ends with the test. */
export function assembleNode(host: NodeHost): AssembledNode {
  const { owner, clock, api, client, runtime, mounts, path } = host;
  const random = () => 0.5;
  const logger = createLogger({ service: 'agent', level: 'fatal' });
  const stop = new AbortController();
  const events: string[] = [];
  const source = new PodSource({ client, node: owner.node, clock, random, logger });
  const pods = new NodePodView(source);
  const reporter = new StatusReporter({ client, pods: pods.records(), clock, logger });
  const linked = new ServiceSource({ client, clock, random, logger });
  const following = Promise.all([source.run(stop.signal), linked.run(stop.signal), reporter.run(stop.signal)]);
  const working: Promise<void>[] = [];
  const end = async () => {
    stop.abort();
    await Promise.all([following, ...working]);
  };
  onTestFinished(end);
  const facts = nodeFacts(2000, { nodeName: owner.node, nodeAddress: '10.0.0.1' });
  const configSource = apiConfigSource(client);
  const configs = new ConfigWatch({ client, source: configSource, clock, random, logger });
  const state = { path, hostPath: path };
  const pulled = new PulledImages(join(path, 'images'), owner.node);
  const hostFiles = linuxHostFiles(async () => host.root);
  const recorder: EventRecorder = {
    event: (_object, type, reason, message) => void events.push(`${type} ${reason} ${message}`),
  };
  const steps = new StepLog(clock, recorder);
  const volumes = new PodVolumes({
    state,
    mounts,
    hostFiles,
    engine: host.engine,
    source: configs,
    tokens: new TokenSource(client, clock),
    persistent: new PersistentFolders({
      folder: `${state.path}/volumes`,
      node: owner.node,
      source: apiClaimSource(client),
      events: recorder,
      hostFiles,
      disks: mounts.disks,
    }),
    facts,
    resolver: RESOLVER,
    clock,
  });
  const usage = new UsageSampler({ stats: runtime.stats, own: undefined, clock, logger });
  const evictions = new Evictions(recorder);
  const evictor = new StorageEvictor({
    pods,
    stats: runtime.stats,
    volumes,
    hostFiles,
    evictions,
    clock,
    logger,
  });
  const services: WorkerServices = {
    owner,
    facts,
    resolver: RESOLVER,
    engine: host.engine,
    privilege: host.privilege,
    hostFiles,
    podNetwork: host.podNetwork,
    seccomp: new SeccompProfiles(join(path, 'seccomp')),
    processLimit: 'unlimited',
    sandboxImage: host.sandboxImage,
    baseEnvironment: {},
    linkedServices: linked,
    runtime,
    client,
    pods,
    gate: new FreshnessGate(clock, (signal) => source.confirm(signal)),
    leaseGate: new FreshnessGate(clock, (signal) => source.confirm(signal), host.tenure),
    atMostOne: new AtMostOne(apiClaimSource(client)),
    staticGate: new FreshnessGate(clock, async () => undefined),
    machineStart: 'm',
    observers: {
      reporter: {
        run: (signal) => reporter.run(signal),
        report: (uid, status) => {
          pods.remember(uid, status);
          reporter.report(uid, status);
        },
      },
      usage,
      evictor,
      evictions,
      fence: host.fence ?? UNFENCED,
      admission: new NodeAdmission({
        pods,
        node: new NodeSource({ client, node: owner.node, initial: host.node }),
        engine: host.engine,
        addresses: { nodeAddress: facts.nodeAddress, podCidr: '' },
        pressure: { pressures: () => host.pressures() },
        evictions,
      }),
      probes: { timers: new TimerWheel(clock), commands: commandLimits(clock), metrics: new ProbeMetrics() },
      maxRestartDelayMs: 300_000,
    },
    volumes,
    config: configSource,
    configs,
    imageVolumes: new ImageVolumes(),
    imageUsers: new ImageUsers(clock),
    puller: new ImagePuller({ images: runtime.images, records: pulled, sharing: unsharedPulls, clock }),
    pulled,
    addresses: new AddressPool(host.podCidr, clock, random),
    events: steps.events,
    steps,
    startSlots: startSlots(host.parallelCalls, clock),
    removals: new Slots(host.parallelCalls),
    clock,
    random,
    logger,
  };
  const put = async ({ metadata, ...rest }: Pod): Promise<Pod> => {
    const { uid: _uid, resourceVersion: _version, ...others } = metadata;
    return await api.put(PODS, {
      ...rest,
      spec: { ...rest.spec, nodeName: owner.node } as Pod['spec'],
      metadata: others,
    });
  };
  const work = (uid: string, end: AbortSignal = stop.signal): PodWorker => {
    const abort = AbortSignal.any([stop.signal, end]);
    const worker = new PodWorker(uid, services, () => true);
    const unsubscribe = pods.subscribe((changed) => changed === uid && worker.notify());
    const unevict = evictions.subscribe((changed) => changed === uid && worker.notify());
    const unfence = services.observers.fence.subscribe(() => worker.notify());
    const unwatch = configs.subscribe((changed) => changed === uid && worker.notify());
    const watch = async () => {
      for await (const _ of host.observer.watch(owner.cluster, abort)) worker.engineChanged();
    };
    working.push(
      worker.run(abort).finally(unsubscribe).finally(unwatch).finally(unevict).finally(unfence),
      watch().catch((error: unknown) => {
        if (!abort.aborted) throw error;
      }),
    );
    return worker;
  };
  return {
    owner,
    path,
    mounts,
    client: api,
    pods,
    events,
    runtime,
    services,
    steps,
    volumes,
    evictor,
    evictions,
    usage,
    stop,
    put,
    work,
    end,
  };
}
