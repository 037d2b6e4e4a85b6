import { AgentError } from '../runtime/agent-error.ts';
import { MAX_PODS } from '../node/node-resources.ts';

const MIB = 2 ** 20;
/** The tmpfs for Secrets and tokens of all pods of a node: a share of the host's memory, within these bounds. */
const MEMORY_SHARE = 32;
const MIN_BYTES = 64 * MIB;
const MAX_BYTES = 512 * MIB;
/** Half of the tmpfs is reserved for pods that need at most this part of the whole. */
const SMALL_PART = 2 * MAX_PODS;
/** The other pods share this part. Another part of the same size is for updates, in which files exist twice. */
const LARGE_PART = 4;

/**
 * Divides a node's memory for Secrets and tokens among its pods, so that a few pods with much content cannot keep others from starting.
 * The kernel cannot do so: the files lie in one tmpfs, because a mount for each pod would need a process.
 */
export class SecretMemory {
  readonly sizeBytes: number;
  readonly #held = new Map<string, number>();

  constructor(hostMemoryBytes: number) {
    this.sizeBytes = Math.min(MAX_BYTES, Math.max(MIN_BYTES, Math.floor(hostMemoryBytes / MEMORY_SHARE)));
  }

  /** Reserves so many bytes for a pod, or keeps what it has if that is more. AgentError 'FailedMount' when there is no room for them. */
  reserve(podUid: string, bytes: number): void {
    if (bytes <= this.of(podUid)) return;
    const small = this.sizeBytes / SMALL_PART;
    if (bytes > small) {
      let large = bytes;
      for (const [uid, other] of this.#held) if (uid !== podUid && other > small) large += other;
      const most = this.sizeBytes / LARGE_PART;
      if (large > most) {
        throw new AgentError(
          'FailedMount',
          `the node has no room for ${bytes} bytes of Secrets and other files of a pod in memory: pods with more than ${Math.floor(small)} share ${most}`,
        );
      }
    }
    this.#held.set(podUid, bytes);
  }

  /** The bytes that a pod has. */
  of(podUid: string): number {
    return this.#held.get(podUid) ?? 0;
  }

  /** Sets the bytes that a pod has. */
  settle(podUid: string, bytes: number): void {
    if (bytes > 0) this.#held.set(podUid, bytes);
    else this.#held.delete(podUid);
  }
}
