import { errorMessage } from '@gantry/base';
import type { Container } from '@gantry/objects';
import type { ContainerState } from '../runtime/containers.ts';
import type { LogRuntime } from '../runtime/logs.ts';
import type { PodVolumes } from '../volumes/pod-volumes.ts';

/** The limits of the log's end that replaces a missing message (Kubernetes: MaxContainerTerminationMessageLogLines and …LogLength). */
const LOG_LINES = 80;
const LOG_BYTES = 2048;

/** Sources of the messages of ended containers. */
export interface MessageSources {
  readonly volumes: Pick<PodVolumes, 'terminationMessage'>;
  readonly logs: LogRuntime;
}

/** The termination messages of one pod's ended containers. Each is read once. */
export class TerminationMessages {
  readonly #sources: MessageSources;
  readonly #byId = new Map<string, string>();

  constructor(sources: MessageSources) {
    this.#sources = sources;
  }

  /** Messages by id of the existing containers. `specs` decide which containers fall back to their log. */
  async read(
    podUid: string,
    containers: readonly ContainerState[],
    specs: readonly Container[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, string>> {
    const present = new Set(containers.map(({ id }) => id));
    for (const id of this.#byId.keys()) if (!present.has(id)) this.#byId.delete(id);
    for (const state of containers) {
      if (state.state !== 'exited' || state.startedAt === undefined || this.#byId.has(state.id)) continue;
      this.#byId.set(state.id, await this.#message(podUid, state, specs, signal));
    }
    return this.#byId;
  }

  async #message(
    podUid: string,
    { id, name, attempt, exitCode, terminationMessagePath }: ContainerState,
    specs: readonly Container[],
    signal: AbortSignal,
  ): Promise<string> {
    // The path is computed again, so that a label of a container cannot decide which file the agent reads.
    const written =
      terminationMessagePath === undefined ? '' : await this.#sources.volumes.terminationMessage(podUid, name, attempt);
    const policy = specs.find((spec) => spec.name === name)?.terminationMessagePolicy;
    if (written !== '' || exitCode === 0 || policy !== 'FallbackToLogsOnError') return written;
    return this.#endOfLog(id, signal);
  }

  async #endOfLog(id: string, signal: AbortSignal): Promise<string> {
    let tail = Buffer.alloc(0);
    try {
      const options = { follow: false, timestamps: false, tailLines: LOG_LINES };
      for await (const part of this.#sources.logs.readLogs(id, options, signal)) {
        tail = Buffer.concat([tail, part]).subarray(-LOG_BYTES);
      }
    } catch (error) {
      signal.throwIfAborted();
      // The kubelet's message. An unreadable log must not keep the pod from ending.
      return `Error on reading termination message from logs: ${errorMessage(error)}`;
    }
    return wholeCharacters(tail);
  }
}

/** The text without an incomplete character at its beginning. */
function wholeCharacters(bytes: Buffer): string {
  let start = 0;
  while (start < bytes.length && start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start++;
  return bytes.subarray(start).toString();
}
