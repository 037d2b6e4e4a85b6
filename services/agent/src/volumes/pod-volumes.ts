import { chmod, mkdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod, Volume } from '@gantry/api';
import { AgentError } from '../agent-error.ts';
import type { ConfigSource } from '../pods/environment.ts';
import { expand } from '../pods/expand.ts';
import type { NodeFacts } from '../pods/field-values.ts';
import type { MountSpec } from '../runtime/runtime.ts';
import { writeAtomically } from './atomic-folder.ts';
import type { TokenSource } from './service-account-token.ts';
import { volumeFiles } from './volume-files.ts';

/** One folder, as this process sees it and as the engine's host does. */
export interface StateFolder {
  readonly path: string;
  readonly hostPath: string;
}

export interface PodVolumesOptions {
  readonly state: StateFolder;
  readonly source: ConfigSource;
  readonly tokens: TokenSource;
  readonly facts: NodeFacts;
  readonly clock: Clock;
}

const TERMINATION_LOG = '/dev/termination-log';
const MAX_MESSAGE_BYTES = 4096;
/** Kinds that are folders with files from the API; every other kind but emptyDir is refused. */
const FILE_KINDS = ['configMap', 'secret', 'projected', 'downwardAPI'] as const;

/** The folders of this node's pods: volumes and termination messages. They live until the pod is released. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /** Makes every volume and brings its content up to date. Idempotent. AgentError 'FailedMount' in kubelet's words. */
  async sync(pod: Pod, podAddress: string, signal: AbortSignal): Promise<void> {
    for (const volume of pod.spec?.volumes ?? []) {
      try {
        await this.#syncVolume(pod, volume, podAddress, signal);
      } catch (error) {
        signal.throwIfAborted();
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${errorMessage(error)}`;
        throw new AgentError('FailedMount', message, { cause: error });
      }
    }
  }

  async #syncVolume(pod: Pod, volume: Volume, podAddress: string, signal: AbortSignal): Promise<void> {
    const folder = this.#volumeFolder(pod, volume.name);
    if (volume.emptyDir !== undefined) {
      await mkdir(folder, { recursive: true });
      await chmod(folder, 0o777);
      return;
    }
    if (!FILE_KINDS.some((kind) => volume[kind] !== undefined)) {
      const kind = Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
      throw new AgentError('FailedMount', `volumes of kind ${kind} are not supported by this node`);
    }
    const { source, tokens, facts, clock } = this.#options;
    const token = (projection: Parameters<TokenSource['token']>[1], abort: AbortSignal) =>
      tokens.token(pod, projection, abort);
    const files = await volumeFiles(volume, { pod, podAddress, facts, source, token }, signal);
    await writeAtomically(folder, files, new Date(clock.now()).toISOString().replaceAll(/[-:.TZ]/g, '_'));
  }

  /** What a container mounts, in the order of its spec, and the file that takes its termination message. */
  async mounts(
    pod: Pod,
    container: Container,
    attempt: number,
    environment: ReadonlyMap<string, string>,
  ): Promise<{ readonly mounts: readonly MountSpec[]; readonly terminationMessagePath: string }> {
    const mounts: MountSpec[] = [];
    for (const mount of container.volumeMounts ?? []) {
      const volume = (pod.spec?.volumes ?? []).find((candidate) => candidate.name === mount.name);
      const subPath = mount.subPathExpr === undefined ? mount.subPath : expand(mount.subPathExpr, environment);
      const path = await this.#mountPath(this.#volumeFolder(pod, mount.name), subPath);
      // Content from the API is never the container's to change.
      const access = mount.readOnly === true || volume?.emptyDir === undefined ? 'read-only' : 'read-write';
      mounts.push({ hostPath: this.#hostPath(path), containerPath: mount.mountPath, access });
    }
    const folder = join(this.#podFolder(pod.metadata.uid ?? ''), 'containers', container.name);
    await mkdir(folder, { recursive: true });
    const file = join(folder, String(attempt));
    await writeFile(file, '');
    await chmod(file, 0o666);
    mounts.push({
      hostPath: this.#hostPath(file),
      containerPath: container.terminationMessagePath ?? TERMINATION_LOG,
      access: 'read-write',
    });
    return { mounts, terminationMessagePath: file };
  }

  /** What an ended container left as its message; '' when nothing. */
  async terminationMessage(path: string): Promise<string> {
    try {
      return (await readFile(path)).subarray(0, MAX_MESSAGE_BYTES).toString();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw error;
    }
  }

  /** Removes everything of a pod. Idempotent. */
  async release(podUid: string): Promise<void> {
    this.#options.tokens.forget(podUid);
    await rm(this.#podFolder(podUid), { recursive: true, force: true });
  }

  #podFolder(uid: string): string {
    return join(this.#options.state.path, 'pods', uid);
  }

  #volumeFolder(pod: Pod, name: string): string {
    return join(this.#podFolder(pod.metadata.uid ?? ''), 'volumes', name);
  }

  /** A subPath is resolved inside its volume: links in it may lead nowhere else. */
  async #mountPath(volume: string, subPath: string | undefined): Promise<string> {
    if (subPath === undefined || subPath === '') return volume;
    if (subPath.startsWith('/') || subPath.split('/').includes('..')) {
      throw new AgentError('CreateContainerConfigError', `subPath ${JSON.stringify(subPath)} leads out of its volume`);
    }
    const path = join(volume, subPath);
    try {
      const real = await realpath(path);
      if (relative(await realpath(volume), real).startsWith('..')) {
        throw new AgentError(
          'CreateContainerConfigError',
          `subPath ${JSON.stringify(subPath)} leads out of its volume`,
        );
      }
      return real;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await mkdir(path, { recursive: true, mode: 0o750 });
      return path;
    }
  }

  #hostPath(path: string): string {
    return join(this.#options.state.hostPath, relative(this.#options.state.path, path));
  }
}
