import { mkdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod, VolumeMount } from '@gantry/objects';
import { namesIn, readIfThere } from '../files/if-there.ts';
import { treeUsage } from '../files/tree-usage.ts';
import { openBeneath, openInImage, openOwned } from '../mounts/open-path.ts';
import { AgentError, isAgentError } from '../runtime/agent-error.ts';
import type { DeviceSpec, MountSpec } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { HostFiles, OpenedPath } from '../runtime/host-files.ts';
import type { BindSource, HostMounts, StateFolder, NfsSource } from '../runtime/host-mounts.ts';
import type { TokenSource } from '../sources/token-source.ts';
import { type ConfigSource, rememberReads } from '../spec/config-source.ts';
import { formatResolvConf, type NodeResolver, podResolver } from '../spec/dns.ts';
import { hostnameFile, hostsFile } from '../spec/hostname.ts';
import type { NodeFacts } from '../spec/field-values.ts';
import { volumeNamed } from '../spec/pod-containers.ts';
import { memoryLimitOf } from '../spec/resources.ts';
import { emptyDirsOnDisk, type PodUsage } from '../spec/local-storage.ts';
import { component, hostPathOf, serverOf, diskUsage } from './volume-paths.ts';
import { ClaimedPlaces } from './claimed-places.ts';
import { ContentBudget } from './content-budget.ts';
import { containerPathOf } from '../spec/container-path.ts';
import { MAX_MOUNTS } from './volume-types/mount-points.ts';
import { NetworkOpens } from './network-opens.ts';
import {
  hasOwnFile,
  HOSTNAME_PATH,
  HOSTS_PATH,
  RESOLVER_PATH,
  writePodFile,
  volumeText,
  makeMessageFile,
  messageContainerPath,
  readMessageFile,
} from './pod-file.ts';
import type { PersistentFolders, VolumePlace } from './persistent-folders.ts';
import { SecretMemory } from './secret-memory.ts';
import { mountAccess, subPathOf, containerDevices, refuseMountedDevices } from './mount-access.ts';
import { volumeTypeOf } from './supported-volumes.ts';
import type { VolumeContext } from './volume-types/volume-type.ts';

/** File names in a pod's folder. */
const HOSTS_FILE = 'etc-hosts';
const HOSTNAME_FILE = 'etc-hostname';
const RESOLVER_FILE = 'resolv.conf';
const MESSAGES = 'containers';
const RECORD_FILE = 'record.json';

export interface PodVolumesOptions {
  readonly state: StateFolder;
  readonly mounts: HostMounts;
  readonly hostFiles: HostFiles;
  readonly engine: Pick<EngineInfo, 'recursiveReadOnly'>;
  readonly source: ConfigSource;
  readonly tokens: TokenSource;
  readonly persistent: PersistentFolders;
  readonly facts: NodeFacts;
  readonly resolver: NodeResolver;
  readonly clock: Clock;
}

/** The mounts of one container. Paths of subPath mounts exist until this is disposed of; a started container keeps its mounts. */
export interface ContainerMounts extends AsyncDisposable {
  /** In the order of the container's spec, followed by resolv.conf, hosts, hostname and the file for the termination message. */
  readonly mounts: readonly MountSpec[];
  readonly devices: readonly DeviceSpec[];
  readonly terminationMessagePath: string;
}

/** The volumes, termination messages and records of a node's pods. They exist until the pod is released. */
export class PodVolumes {
  /** The persistent volumes, which are not removed with a pod. */
  readonly persistent: PersistentFolders;
  readonly #options: PodVolumesOptions;
  readonly #claimed: ClaimedPlaces;
  readonly #networkOpens: NetworkOpens;
  readonly #secrets: SecretMemory;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#networkOpens = new NetworkOpens(options.clock);
    this.#secrets = new SecretMemory(options.facts.hostMemoryBytes);
    this.persistent = options.persistent;
    this.#claimed = new ClaimedPlaces(options.persistent, options.mounts.network);
  }

  /** Removes leftovers of an earlier process of this agent, mounts the tmpfs for Secrets, and counts its files. Call it before `sync`. */
  async prepare(): Promise<void> {
    const { mounts } = this.#options;
    await mounts.detach(this.#bindsFolder());
    await mounts.mountMemory(this.#memoryFolder(), this.#secrets.sizeBytes, 0o700);
    for (const uid of await namesIn(this.#memoryFolder())) {
      this.#secrets.settle(uid, (await treeUsage(join(this.#memoryFolder(), uid), new AbortController().signal)).bytes);
    }
  }

  /**
   * Creates every volume and updates its content. Idempotent. AgentError 'FailedMount', or 'FailedMapVolume' for a block device, with
   * the kubelet's message.
   */
  async sync(pod: Pod, podAddress: string, signal: AbortSignal): Promise<void> {
    const { tokens, facts, clock, mounts, hostFiles } = this.#options;
    const source = rememberReads(this.#options.source);
    const token: VolumeContext['token'] = (projection, abort) => tokens.token(pod, projection, abort);
    const { uid = '' } = pod.metadata;
    // Like the tmpfs of a kubelet's volume, they are no larger than the pod's memory.
    const memory = new ContentBudget(memoryLimitOf(pod) || undefined, (bytes) => this.#secrets.reserve(uid, bytes));
    const budgets = { disk: new ContentBudget(), memory };
    let inMemory = this.#secrets.of(uid);
    for (const volume of pod.spec?.volumes ?? []) {
      try {
        const type = volumeTypeOf(volume);
        // Without the tmpfs, Secrets would be written to a disk.
        if (type.storage === 'memory') await mounts.checkMemory(this.#memoryFolder());
        if (type.storage === 'persistent')
          await this.#claimed.claim(pod, volume, this.#diskFolder(pod, volume.name), signal);
        const folder = this.#volumeFolder(pod, volume.name);
        // Like the kubelet, keep the default mode of a tmpfs: users can remove only their own files (sticky bit).
        const mountMemory = (sizeBytes: number) => mounts.mountMemory(folder, sizeBytes, 0o1777);
        const mountNfs = async (nfs: NfsSource, abort: AbortSignal) =>
          void (await mounts.network.mountNfs(folder, nfs, abort));
        const budget = type.storage === 'memory' ? budgets.memory : budgets.disk;
        const context = { pod, podAddress, facts, source, token, budget };
        await type.sync(volume, { folder, clock, hostFiles, mountMemory, mountNfs }, context, signal);
        inMemory = Math.max(inMemory, memory.bytes);
      } catch (error) {
        // Nothing of this volume was written. Its older files stay.
        this.#secrets.settle(uid, inMemory);
        signal.throwIfAborted();
        const isDevice = isAgentError(error, 'FailedMapVolume');
        const step = isDevice ? 'MapVolume.MapBlockVolume' : 'MountVolume.SetUp';
        const message = `${step} failed for volume "${volume.name}" : ${errorMessage(error)}`;
        throw new AgentError(isDevice ? 'FailedMapVolume' : 'FailedMount', message, { cause: error });
      }
    }
    this.#secrets.settle(uid, memory.bytes);
  }

  /**
   * Prepares the mounts of a container. Pods cannot change any component of the returned paths: for a subPath, the agent opens the file
   * and binds it to a path of its own. AgentError 'CreateContainerConfigError' for a subPath or a device that is refused.
   */
  async mounts(
    pod: Pod,
    container: Container,
    attempt: number,
    environment: ReadonlyMap<string, string>,
    podAddress: string,
    signal: AbortSignal,
  ): Promise<ContainerMounts> {
    const { mounts } = this.#options;
    const { volumeMounts = [], volumeDevices = [] } = container;
    const count = volumeMounts.length + volumeDevices.length;
    if (count > MAX_MOUNTS) {
      const message = `container "${container.name}" has ${count} volumeMounts and volumeDevices; this node mounts at most ${MAX_MOUNTS}`;
      throw new AgentError('CreateContainerConfigError', message);
    }
    const placeOf = (volume: string) => this.#claimed.of(pod.metadata.uid ?? '', volume);
    const devices = containerDevices(pod, container, placeOf);
    refuseMountedDevices(container, placeOf);
    const ofNetwork = volumeMounts.filter((mount) => this.#serverOf(pod, mount) !== undefined);
    for (const name of new Set(ofNetwork.map((mount) => mount.name)))
      await mounts.network.checkAnswers(this.#volumeFolder(pod, name), signal);
    const bind = async () => ({ ...(await this.#bind(pod, container, attempt, environment, podAddress)), devices });
    const opened = ofNetwork.filter((mount) => subPathOf(mount, environment) !== '');
    const servers = new Set(opened.map((mount) => this.#serverOf(pod, mount) ?? ''));
    return await (servers.size > 0 ? this.#networkOpens.use([...servers], bind, signal) : bind());
  }

  async #bind(
    pod: Pod,
    container: Container,
    attempt: number,
    environment: ReadonlyMap<string, string>,
    podAddress: string,
  ): Promise<Omit<ContainerMounts, 'devices'>> {
    const { mounts, engine } = this.#options;
    const { volumeMounts = [] } = container;
    const uid = pod.metadata.uid ?? '';
    const folder = join(this.#bindsFolder(), component(uid), component(`${container.name}-${attempt}`));
    await using opened = new AsyncDisposableStack();
    const sources: BindSource[] = [];
    const drafts: { readonly draft: Omit<MountSpec, 'hostPath'>; readonly hostPath: string | undefined }[] = [];
    for (const mount of volumeMounts) {
      const draft = { containerPath: containerPathOf(mount.mountPath), ...mountAccess(pod, mount, engine) };
      const subPath = subPathOf(mount, environment);
      drafts.push({ draft, hostPath: subPath === '' ? this.#wholePath(pod, mount) : undefined });
      if (subPath === '') continue;
      const propagation = this.#boundPropagation(pod, mount, draft.propagation);
      sources.push({ opened: opened.use(await this.#openPart(pod, container, mount, subPath)), propagation });
    }
    for (const { containerPath, name, text, write } of this.#podFiles(pod, podAddress)) {
      if (hasOwnFile(container, containerPath)) continue;
      const isReadOnly = container.securityContext?.readOnlyRootFilesystem === true;
      const draft = { access: isReadOnly ? 'read-only' : 'read-write', propagation: 'none' } as const;
      const path = join(this.#podFolder(uid), name);
      await writePodFile(path, text, write);
      drafts.push({ draft: { containerPath, ...draft }, hostPath: this.#hostPath(path) });
    }
    const terminationMessagePath = this.#messageFile(uid, container.name, attempt);
    await makeMessageFile(terminationMessagePath);
    const message = {
      containerPath: messageContainerPath(container),
      access: 'read-write',
      propagation: 'none',
    } as const;
    drafts.push({ draft: message, hostPath: this.#hostPath(terminationMessagePath) });
    const release = async () => {
      if (sources.length > 0) await mounts.detach(folder);
    };
    // Remove what an earlier call may have left behind.
    await release();
    const bound = (sources.length === 0 ? [] : await mounts.bind(sources, folder)).values();
    const specs = drafts.map(({ draft, hostPath }) => ({
      ...draft,
      hostPath: hostPath ?? this.#hostPath(bound.next().value ?? ''),
    }));
    return { mounts: specs, terminationMessagePath, [Symbol.asyncDispose]: release };
  }

  /** Creates the mount point of an image volume. Returns its path on the host, and whether something is mounted there. */
  async imageFolder(
    pod: Pod,
    volume: string,
  ): Promise<{ readonly hostPath: string; readonly state: 'mounted' | 'empty' }> {
    const folder = this.#volumeFolder(pod, volume);
    await mkdir(folder, { recursive: true });
    const isMounted = await this.#options.mounts.isMounted(folder);
    return { hostPath: this.#hostPath(folder), state: isMounted ? 'mounted' : 'empty' };
  }

  /**
   * The text of a file in an emptyDir of the pod; undefined for a file that cannot be read, and for other volume types. Kubernetes
   * reads environment variables only from emptyDirs, and reading from a network server could block this process.
   */
  async text(pod: Pod, volume: string, path: string): Promise<string | undefined> {
    return volumeNamed(pod, volume)?.emptyDir !== undefined
      ? await volumeText(this.#volumeFolder(pod, volume), path)
      : undefined;
  }

  /**
   * The disk usage of the pod's emptyDirs by name, and of the agent's files for its containers. If `until` is aborted, returns what was
   * counted so far.
   */
  async diskUsage(pod: Pod, until: AbortSignal): Promise<Omit<PodUsage, 'containers'>> {
    const folder = this.#podFolder(pod.metadata.uid ?? '');
    const folders = emptyDirsOnDisk(pod).map(({ name }) => ({ name, path: this.#volumeFolder(pod, name) }));
    return await diskUsage(
      folders,
      [HOSTS_FILE, HOSTNAME_FILE, RESOLVER_FILE, MESSAGES].map((name) => join(folder, name)),
      until,
    );
  }

  /**
   * The files that a pod's containers share: resolv.conf if the pod does not use the engine's, hosts, and hostname. Engine 28 writes no
   * hostname file for a sandbox that the agent connects.
   */
  #podFiles(pod: Pod, podAddress: string): readonly PodFile[] {
    const resolver = podResolver(pod, this.#options.resolver);
    const hosts = hostsFile(pod, podAddress);
    const hostname = hostnameFile(pod);
    return [
      ...(resolver.kind === 'file'
        ? [file(RESOLVER_PATH, RESOLVER_FILE, formatResolvConf(resolver.config), 'once')]
        : []),
      ...(hosts === undefined ? [] : [file(HOSTS_PATH, HOSTS_FILE, hosts, 'always')]),
      ...(hostname === undefined ? [] : [file(HOSTNAME_PATH, HOSTNAME_FILE, hostname, 'once')]),
    ];
  }

  /** The termination message of an ended container; '' without one. */
  terminationMessage(podUid: string, container: string, attempt: number): Promise<string> {
    return readMessageFile(this.#messageFile(podUid, container, attempt));
  }

  /** The text that the pod's worker has recorded last; '' without one, and perhaps a part of it after a crash. */
  async readRecord(podUid: string): Promise<string> {
    return (await readIfThere(this.#recordFile(podUid))) ?? '';
  }

  /** Records a text for the next agent. It is not flushed: after a loss of power, the containers that it is about are gone. */
  async writeRecord(podUid: string, text: string): Promise<void> {
    await mkdir(this.#podFolder(podUid), { recursive: true });
    await writeFile(this.#recordFile(podUid), text, { mode: 0o600 });
  }

  /** The pod's containers have ended. Its files stay until `release`. */
  end(podUid: string): void {
    this.#claimed.end(podUid);
  }

  /** Removes everything of a pod. Idempotent. */
  async release(podUid: string): Promise<void> {
    const { tokens, mounts } = this.#options;
    tokens.forget(podUid);
    await mounts.detach(join(this.#bindsFolder(), component(podUid)));
    await mounts.remove(join(this.#memoryFolder(), component(podUid)));
    this.#secrets.settle(podUid, 0);
    await mounts.remove(this.#podFolder(podUid));
    this.#claimed.release(podUid);
  }

  /**
   * The host's path of a whole volume: a folder that only the agent can replace, or a path that an administrator has chosen. The volume
   * is not opened, because a network server could block this process.
   */
  #wholePath(pod: Pod, mount: VolumeMount): string {
    const ofHost = hostPathOf(pod, mount, this.#claimedBy(pod, mount));
    return ofHost ?? this.#hostPath(this.#volumeFolder(pod, mount.name));
  }

  /**
   * The propagation of a subPath mount. A bind of a host path is separate from the host's own mounts, so mounts of the container inside
   * it would not reach the host. AgentError 'CreateContainerConfigError' for a mount that asks for that.
   */
  #boundPropagation(pod: Pod, mount: VolumeMount, wanted: MountSpec['propagation']): BindSource['propagation'] {
    if (wanted !== 'both' || hostPathOf(pod, mount, this.#claimedBy(pod, mount)) === undefined) {
      return wanted === 'none' ? 'none' : 'from-host';
    }
    const message = `volumeMount "${mount.name}" has a subPath and the mountPropagation Bidirectional: what lies on the host (hostPath, local) has that only as a whole`;
    throw new AgentError('CreateContainerConfigError', message);
  }

  /**
   * Opens a subPath. The root of the volume is trusted: it is a folder of the agent or a path of the host. Its content may be the pod's
   * and is not trusted.
   */
  async #openPart(pod: Pod, container: Container, mount: VolumeMount, subPath: string): Promise<OpenedPath> {
    const isImage = volumeNamed(pod, mount.name)?.image !== undefined;
    const hostPath = hostPathOf(pod, mount, this.#claimedBy(pod, mount));
    await using root =
      hostPath === undefined
        ? await openOwned(this.#volumeFolder(pod, mount.name))
        : await openedOnHost(this.#options.hostFiles, hostPath);
    try {
      return isImage ? await openInImage(root, subPath) : await openBeneath(root, subPath, 'create');
    } catch (error) {
      // The kubelet's message. It contains no path: users who may only write pods must not learn the paths of volumes.
      throw new AgentError(
        // For an image, the runtime would prepare the subPath when it creates the container.
        isImage ? 'CreateContainerError' : 'CreateContainerConfigError',
        `failed to prepare subPath for volumeMount "${mount.name}" of container "${container.name}"`,
        { cause: error },
      );
    }
  }

  #serverOf(pod: Pod, mount: VolumeMount): string | undefined {
    return serverOf(pod, mount, this.#claimedBy(pod, mount));
  }

  #claimedBy({ metadata }: Pod, { name }: VolumeMount): VolumePlace | undefined {
    return this.#claimed.of(metadata.uid ?? '', name);
  }

  #podFolder(uid: string): string {
    return join(this.#options.state.path, 'pods', component(uid));
  }

  #recordFile(uid: string): string {
    return join(this.#podFolder(uid), RECORD_FILE);
  }

  #memoryFolder(): string {
    return join(this.#options.state.path, 'memory');
  }

  #bindsFolder(): string {
    return join(this.#options.state.path, 'binds');
  }

  #messageFile(uid: string, container: string, attempt: number): string {
    return join(this.#podFolder(uid), MESSAGES, component(container), String(attempt));
  }

  #volumeFolder(pod: Pod, name: string): string {
    const uid = pod.metadata.uid ?? '';
    const volume = volumeNamed(pod, name);
    const storage = volume === undefined ? 'disk' : volumeTypeOf(volume).storage;
    if (storage === 'persistent') {
      const claimed = this.#claimed.of(uid, name);
      if (claimed === undefined) throw new AgentError('FailedMount', `volume ${JSON.stringify(name)} is not mounted`);
      return claimed.kind === 'nfs' || claimed.kind === 'disk' ? this.#diskFolder(pod, name) : claimed.path;
    }
    return storage === 'memory'
      ? join(this.#memoryFolder(), component(uid), component(name))
      : this.#diskFolder(pod, name);
  }

  #diskFolder({ metadata }: Pod, name: string): string {
    return join(this.#podFolder(metadata.uid ?? ''), 'volumes', component(name));
  }

  #hostPath(path: string): string {
    return join(this.#options.state.hostPath, relative(this.#options.state.path, path));
  }
}

/** Opens a host path. It existed when the pod got the volume. */
async function openedOnHost(hostFiles: HostFiles, path: string): Promise<OpenedPath> {
  const opened = await hostFiles.open(path);
  if (opened !== undefined) return opened;
  throw new AgentError('FailedMount', `path ${JSON.stringify(path)} does not exist`);
}

interface PodFile {
  readonly containerPath: string;
  /** The file name in the pod's folder. */
  readonly name: string;
  readonly text: string;
  readonly write: 'once' | 'always';
}

function file(containerPath: string, name: string, text: string, write: PodFile['write']): PodFile {
  return { containerPath, name, text, write };
}
