/** Responses to one packet: several where they differ in the order of their addresses. */
export interface Rotation {
  readonly count: number;
  /** Encodes the one with this index. */
  readonly encode: (index: number) => Buffer;
}

interface Kept {
  readonly rotation: Rotation;
  readonly encoded: (Buffer | undefined)[];
  next: number;
}

/** Bytes of a packet in front of what decides on its response: the id. */
const ID_BYTES = 2;
/** No question of the cluster is longer; longer packets are not kept. */
const MAX_PACKET = 300;

/**
 * Encoded responses by the packet that asked, apart from its id: a name that is asked again costs a look into a map and a copy. All are
 * dropped when the state of the cluster has changed; the oldest one is dropped when there are too many.
 */
export class KeptResponses {
  readonly #max: number;
  readonly #kept = new Map<string, Kept>();
  #generation = -1;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** The response to a packet, with its id; undefined when there is none of this generation. */
  find(packet: Buffer, generation: number): Buffer | undefined {
    if (generation !== this.#generation) {
      this.#kept.clear();
      this.#generation = generation;
      return undefined;
    }
    if (packet.length > MAX_PACKET || packet.length < ID_BYTES) return undefined;
    const kept = this.#kept.get(keyOf(packet));
    return kept === undefined ? undefined : withId(take(kept), packet);
  }

  /** Keeps responses of the generation that was last looked for, and returns the first. */
  keep(packet: Buffer, rotation: Rotation): Buffer {
    const kept: Kept = { rotation, encoded: [], next: 0 };
    if (packet.length <= MAX_PACKET) {
      const [oldest] = this.#kept.size >= this.#max ? this.#kept.keys() : [];
      if (oldest !== undefined) this.#kept.delete(oldest);
      this.#kept.set(keyOf(packet), kept);
    }
    return withId(take(kept), packet);
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
