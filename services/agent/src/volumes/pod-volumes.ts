import { mkdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod, VolumeMount } from '@gantry/objects';
import { openBeneath, openInImage, openOwned } from '../mounts/open-path.ts';
import { AgentError, isAgentError } from '../runtime/agent-error.ts';
import type { DeviceSpec, MountSpec } from '../runtime/containers.ts';
import type { EngineInfo } from '../runtime/engine.ts';
import type { HostFiles, OpenedPath } from '../runtime/host-files.ts';
import type { BindSource, HostMounts, StateFolder, NfsSource } from '../runtime/host-mounts.ts';
import type { TokenSource } from '../sources/token-source.ts';
import type { ConfigSource } from '../spec/config-source.ts';
import { formatResolvConf, type NodeResolver, podResolver } from '../spec/dns.ts';
import { hostnameFile, hostsFile } from '../spec/hostname.ts';
import type { NodeFacts } from '../spec/field-values.ts';
import { emptyDirsOnDisk, type PodUsage } from '../spec/local-storage.ts';
import { component, hostPathOf, serverOf, diskUsage } from './volume-paths.ts';
import { ClaimedPlaces } from './claimed-places.ts';
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
import { mountAccess, subPathOf, containerDevices, refuseMountedDevices } from './mount-access.ts';
import { volumeTypeOf } from './supported-volumes.ts';
import type { VolumeContext } from './volume-types/volume-type.ts';

const MIB = 2 ** 20;
/** Memory for the files of Secrets and tokens of all pods of a node: a share of the host's, within these bounds. */
const MEMORY_SHARE = 32;
const MIN_MEMORY_BYTES = 64 * MIB;
const MAX_MEMORY_BYTES = 512 * MIB;

/** In a pod's folder. */
const HOSTS_FILE = 'etc-hosts';
const HOSTNAME_FILE = 'etc-hostname';
const RESOLVER_FILE = 'resolv.conf';
const MESSAGES = 'containers';

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

/** What the engine mounts into one container. Paths of parts of volumes exist until it is disposed of; a started container keeps its mounts. */
export interface ContainerMounts extends AsyncDisposable {
  /** In the order of the container's spec, and then its resolv.conf, its hosts, its hostname and the file for its termination message. */
  readonly mounts: readonly MountSpec[];
  readonly devices: readonly DeviceSpec[];
  readonly terminationMessagePath: string;
}

/** The folders of a node's pods: volumes and termination messages. They exist until the pod is released. */
export class PodVolumes {
  /** The folders of persistent volumes, which are not removed with a pod. */
  readonly persistent: PersistentFolders;
  readonly #options: PodVolumesOptions;
  readonly #claimed: ClaimedPlaces;
  readonly #networkOpens: NetworkOpens;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#networkOpens = new NetworkOpens(options.clock);
    this.persistent = options.persistent;
    this.#claimed = new ClaimedPlaces(options.persistent, options.mounts.network);
  }

  /** Removes what an earlier process of this agent left half done, and makes the memory for Secrets. Call it before `sync`. */
  async prepare(): Promise<void> {
    const { mounts, facts } = this.#options;
    await mounts.detach(this.#bindsFolder());
    const share = facts.hostMemoryBytes / MEMORY_SHARE;
    await mounts.mountMemory(
      this.#memoryFolder(),
      Math.min(MAX_MEMORY_BYTES, Math.max(MIN_MEMORY_BYTES, share)),
      0o700,
    );
  }

  /**
   * Makes every volume and brings its content up to date. Idempotent. AgentError 'FailedMount', or 'FailedMapVolume' for a block device, with
   * kubelet's message.
   */
  async sync(pod: Pod, podAddress: string, signal: AbortSignal): Promise<void> {
    const { source, tokens, facts, clock, mounts, hostFiles } = this.#options;
    const token: VolumeContext['token'] = (projection, abort) => tokens.token(pod, projection, abort);
    const context = { pod, podAddress, facts, source, token };
    for (const volume of pod.spec?.volumes ?? []) {
      try {
        const type = volumeTypeOf(volume);
        // What belongs into memory must not be written to a disk.
        if (type.storage === 'memory') await mounts.checkMemory(this.#memoryFolder());
        if (type.storage === 'persistent')
          await this.#claimed.claim(pod, volume, this.#diskFolder(pod, volume.name), signal);
        const folder = this.#volumeFolder(pod, volume.name);
        // As the kernel makes it and kubelet leaves it: a user removes only files of its own.
        const mountMemory = (sizeBytes: number) => mounts.mountMemory(folder, sizeBytes, 0o1777);
        const mountNfs = async (nfs: NfsSource, abort: AbortSignal) =>
          void (await mounts.network.mountNfs(folder, nfs, abort));
        await type.sync(volume, { folder, clock, hostFiles, mountMemory, mountNfs }, context, signal);
      } catch (error) {
        signal.throwIfAborted();
        const isDevice = isAgentError(error, 'FailedMapVolume');
        const step = isDevice ? 'MapVolume.MapBlockVolume' : 'MountVolume.SetUp';
        const message = `${step} failed for volume "${volume.name}" : ${errorMessage(error)}`;
        throw new AgentError(isDevice ? 'FailedMapVolume' : 'FailedMount', message, { cause: error });
      }
    }
  }

  /**
   * What a container mounts, by paths in which no pod can change a component. A part of a volume is opened, and what was opened is bound to
   * such a path. AgentError 'CreateContainerConfigError' for a subPath or a device that is refused.
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
    // What an earlier call may have left there.
    await release();
    const bound = (sources.length === 0 ? [] : await mounts.bind(sources, folder)).values();
    const specs = drafts.map(({ draft, hostPath }) => ({
      ...draft,
      hostPath: hostPath ?? this.#hostPath(bound.next().value ?? ''),
    }));
    return { mounts: specs, terminationMessagePath, [Symbol.asyncDispose]: release };
  }

  /** Makes the folder where a pod's image is to be mounted. Says where it is on the host, and whether something is mounted. */
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
   * The text of a file in an emptyDir of the pod; undefined for one that cannot be read, and of any other volume. Kubernetes takes variables
   * from no other, and on a server of the network this process would wait for it.
   */
  async text(pod: Pod, volume: string, path: string): Promise<string | undefined> {
    const isEmptyDir = pod.spec?.volumes?.some(({ name, emptyDir }) => name === volume && emptyDir !== undefined);
    return isEmptyDir === true ? await volumeText(this.#volumeFolder(pod, volume), path) : undefined;
  }

  /**
   * What the pod's emptyDirs, by their names, and the files of its containers take of the disk. When `until` is aborted, what was counted
   * by then.
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
   * The files that a pod's containers share: its resolver where the engine's is not the pod's, its hosts, and its hostname, which engine 28
   * writes for no sandbox that the agent connects.
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

  /** The message that an ended container wrote; '' without one. */
  terminationMessage(podUid: string, container: string, attempt: number): Promise<string> {
    return readMessageFile(this.#messageFile(podUid, container, attempt));
  }

  /** The pod's containers have ended. What it wrote stays until it is released. */
  end(podUid: string): void {
    this.#claimed.end(podUid);
  }

  /** Removes everything of a pod. Idempotent. */
  async release(podUid: string): Promise<void> {
    const { tokens, mounts } = this.#options;
    tokens.forget(podUid);
    await mounts.detach(join(this.#bindsFolder(), component(podUid)));
    await mounts.remove(join(this.#memoryFolder(), component(podUid)));
    await mounts.remove(this.#podFolder(podUid));
    this.#claimed.release(podUid);
  }

  /**
   * Of a whole volume, the path where it is on the host. It is a folder of the agent, in which only the agent can change a component, or the
   * path that an administrator has chosen. It is not opened: of one of the network, this process would wait for its server.
   */
  #wholePath(pod: Pod, mount: VolumeMount): string {
    const ofHost = hostPathOf(pod, mount, this.#claimedBy(pod, mount));
    return ofHost ?? this.#hostPath(this.#volumeFolder(pod, mount.name));
  }

  /**
   * Of a part of what lies on the host, which is bound apart from the host's own mounts: what a container mounts in it would not be seen
   * there. AgentError 'CreateContainerConfigError' for a mount that asks for that.
   */
  #boundPropagation(pod: Pod, mount: VolumeMount, wanted: MountSpec['propagation']): BindSource['propagation'] {
    if (wanted !== 'both' || hostPathOf(pod, mount, this.#claimedBy(pod, mount)) === undefined) {
      return wanted === 'none' ? 'none' : 'from-host';
    }
    const message = `volumeMount "${mount.name}" has a subPath and the mountPropagation Bidirectional: what lies on the host (hostPath, local) has that only as a whole`;
    throw new AgentError('CreateContainerConfigError', message);
  }

  /** A volume's root is a folder of the agent, or at a path of the host; what lies in it may be the pod's. */
  async #openPart(pod: Pod, container: Container, mount: VolumeMount, subPath: string): Promise<OpenedPath> {
    const isImage = pod.spec?.volumes?.some(({ name, image }) => name === mount.name && image !== undefined) === true;
    const hostPath = hostPathOf(pod, mount, this.#claimedBy(pod, mount));
    await using root =
      hostPath === undefined
        ? await openOwned(this.#volumeFolder(pod, mount.name))
        : await openedOnHost(this.#options.hostFiles, hostPath);
    try {
      return isImage ? await openInImage(root, subPath) : await openBeneath(root, subPath, 'create');
    } catch (error) {
      // Kubelet's message. It names no path: what lies where is not shown to who may only write pods.
      throw new AgentError(
        // Of an image, the runtime prepares the subPath when it creates the container.
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
    const volume = pod.spec?.volumes?.find((candidate) => candidate.name === name);
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

/** The volume has been there when the pod got it. */
async function openedOnHost(hostFiles: HostFiles, path: string): Promise<OpenedPath> {
  const opened = await hostFiles.open(path);
  if (opened !== undefined) return opened;
  throw new AgentError('FailedMount', `path ${JSON.stringify(path)} does not exist`);
}

interface PodFile {
  readonly containerPath: string;
  /** In the pod's folder. */
  readonly name: string;
  readonly text: string;
  readonly write: 'once' | 'always';
}

function file(containerPath: string, name: string, text: string, write: PodFile['write']): PodFile {
  return { containerPath, name, text, write };
}
