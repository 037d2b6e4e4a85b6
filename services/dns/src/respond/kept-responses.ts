/** The responses to one packet. There are several if they differ in the order of their addresses. */
export interface Rotation {
  readonly count: number;
  /** Encodes the response with this index. */
  readonly encode: (index: number) => Buffer;
}

interface Kept {
  readonly rotation: Rotation;
  readonly encoded: (Buffer | undefined)[];
  /** The memory that the entry may use after all orders are encoded. */
  readonly bytes: number;
  next: number;
}

/** The size of the id, which comes first in a packet and does not affect the response's content. */
const ID_BYTES = 2;
/** No question of the cluster is longer. Longer packets are not kept. */
const MAX_PACKET = 300;
/** The maximum size of all kept responses. A name with thousands of endpoints, asked in many spellings, would fill the memory. */
const MAX_BYTES = 2 ** 25;
/** The approximate size of what an entry is encoded from. */
const ENTRY_BYTES = 1000;

/**
 * Keeps encoded responses by the question's packet without its id. If a name is asked again, it costs one map look-up and a copy. All
 * responses are dropped when the cluster's state has changed. The oldest ones are dropped if there are too many responses or bytes.
 */
export class KeptResponses {
  readonly #max: number;
  readonly #maxBytes: number;
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;
  #generation = -1;

  constructor(max: number, maxBytes = MAX_BYTES) {
    this.#max = max;
    this.#maxBytes = maxBytes;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Returns the response to a packet, with the packet's id. Returns undefined if there is none of this generation. */
  find(packet: Buffer, generation: number): Buffer | undefined {
    if (generation !== this.#generation) {
      this.#kept.clear();
      this.#bytes = 0;
      this.#generation = generation;
      return undefined;
    }
    if (packet.length > MAX_PACKET || packet.length < ID_BYTES) return undefined;
    const kept = this.#kept.get(keyOf(packet));
    return kept === undefined ? undefined : withId(take(kept), packet);
  }

  /** Keeps responses for the generation of the last `find`, and returns the first response. */
  keep(packet: Buffer, rotation: Rotation): Buffer {
    const first = rotation.encode(0);
    const bytes = packet.length + first.length * rotation.count + ENTRY_BYTES;
    if (packet.length <= MAX_PACKET && bytes <= this.#maxBytes) {
      const key = keyOf(packet);
      this.#drop(key);
      while (this.#kept.size >= this.#max || this.#bytes + bytes > this.#maxBytes) {
        const [oldest] = this.#kept.keys();
        if (oldest === undefined) break;
        this.#drop(oldest);
      }
      this.#kept.set(key, { rotation, encoded: [first], bytes, next: 1 % rotation.count });
      this.#bytes += bytes;
    }
    return withId(first, packet);
  }

  #drop(key: string): void {
    this.#bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}

function take(kept: Kept): Buffer {
  const index = kept.next;
  kept.next = (index + 1) % kept.rotation.count;
  const encoded = kept.encoded[index] ?? kept.rotation.encode(index);
  kept.encoded[index] = encoded;
  return encoded;
}

function withId(response: Buffer, packet: Buffer): Buffer {
  const copy = Buffer.allocUnsafe(response.length);
  response.copy(copy);
  packet.copy(copy, 0, 0, ID_BYTES);
  return copy;
}

function keyOf(packet: Buffer): string {
  return packet.toString('latin1', ID_BYTES);
}
