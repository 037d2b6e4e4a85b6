import { AgentError } from '../runtime/agent-error.ts';

const MIB = 2 ** 20;
/**
 * The limit of the files that the agent makes of objects of the API for one pod, on the disk and in memory separately. The kubelet has
 * none; it runs out of memory.
 */
export const MAX_CONTENT_BYTES = 32 * MIB;
/** The unit in which file systems give space. */
const PAGE_BYTES = 4096;

/**
 * Counts the files of a pod's volumes while they are made, so that a pod that names one object many times cannot fill the agent's memory
 * or the node's. Files that a later source replaces count, too, because they cost the same work.
 */
export class ContentBudget {
  readonly #maxBytes: number;
  readonly #reserve: (bytes: number) => void;
  #bytes = 0;

  /** `limitBytes` may lower the limit. `reserve` gets the sum after each file, and throws when there is no room. */
  constructor(limitBytes = MAX_CONTENT_BYTES, reserve: (bytes: number) => void = () => undefined) {
    this.#maxBytes = Math.min(limitBytes, MAX_CONTENT_BYTES);
    this.#reserve = reserve;
  }

  /** The space of the counted files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Counts a file: its size, and each folder of its path as a page. AgentError 'FailedMount' when the pod's files are too large. */
  add(path: string, sizeBytes: number): void {
    const folders = path.split('/').length - 1;
    this.#bytes += (Math.max(1, Math.ceil(sizeBytes / PAGE_BYTES)) + folders) * PAGE_BYTES;
    if (this.#bytes > this.#maxBytes) {
      const limit = this.#maxBytes < MAX_CONTENT_BYTES ? "the memory limit of its pod's containers" : 'of each pod';
      throw new AgentError(
        'FailedMount',
        `its files from the API and those of the volumes before it take ${this.#bytes} bytes or more; the limit is ${this.#maxBytes} (${limit})`,
      );
    }
    this.#reserve(this.#bytes);
  }
}
