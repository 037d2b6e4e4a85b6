import { rm } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { type Clock, errorMessage } from '@gantry/base';
import type { Container, Pod } from '@gantry/objects';
import { AgentError } from '../runtime/agent-error.ts';
import type { MountSpec } from '../runtime/containers.ts';
import type { StateFolder } from '../runtime/state-folder.ts';
import type { TokenSource } from '../sources/token-source.ts';
import type { ConfigSource } from '../spec/config-source.ts';
import { expand } from '../spec/expand.ts';
import type { NodeFacts } from '../spec/field-values.ts';
import { resolveSubPath } from './sub-path.ts';
import { volumeTypeOf } from './supported-volumes.ts';
import { createMessageFile, readMessageFile } from './termination-message.ts';
import type { VolumeContext } from './volume-types/volume-type.ts';

export interface PodVolumesOptions {
  readonly state: StateFolder;
  readonly source: ConfigSource;
  readonly tokens: TokenSource;
  readonly facts: NodeFacts;
  readonly clock: Clock;
}

/** The folders of this node's pods: volumes and termination messages. They exist until the pod is released. */
export class PodVolumes {
  readonly #options: PodVolumesOptions;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
  }

  /** Makes every volume and brings its content up to date. Idempotent. AgentError 'FailedMount' with kubelet's message. */
  async sync(pod: Pod, podAddress: string, signal: AbortSignal): Promise<void> {
    const { source, tokens, facts, clock } = this.#options;
    const token: VolumeContext['token'] = (projection, abort) => tokens.token(pod, projection, abort);
    const context = { pod, podAddress, facts, source, token };
    for (const volume of pod.spec?.volumes ?? []) {
      const folder = this.#volumeFolder(pod, volume.name);
      try {
        await volumeTypeOf(volume).sync(volume, { folder, clock }, context, signal);
      } catch (error) {
        signal.throwIfAborted();
        const message = `MountVolume.SetUp failed for volume "${volume.name}" : ${errorMessage(error)}`;
        throw new AgentError('FailedMount', message, { cause: error });
      }
    }
  }

  /** A container's mounts in the order of its spec, and the file for its termination message. */
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
      const path = await resolveSubPath(this.#volumeFolder(pod, mount.name), subPath);
      const isWritable = volume !== undefined && volumeTypeOf(volume).access === 'read-write';
      const access = isWritable && mount.readOnly !== true ? 'read-write' : 'read-only';
      mounts.push({ hostPath: this.#hostPath(path), containerPath: mount.mountPath, access });
    }
    const message = await createMessageFile(this.#podFolder(pod.metadata.uid ?? ''), container, attempt);
    const hostPath = this.#hostPath(message.file);
    mounts.push({ hostPath, containerPath: message.containerPath, access: 'read-write' });
    return { mounts, terminationMessagePath: message.file };
  }

  /** The message that an ended container wrote; '' without one. */
  terminationMessage(path: string): Promise<string> {
    return readMessageFile(path);
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

  #hostPath(path: string): string {
    return join(this.#options.state.hostPath, relative(this.#options.state.path, path));
  }
}
