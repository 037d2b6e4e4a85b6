/** Responses to one packet: several where they differ in the order of their addresses. */
export interface Rotation {
  readonly count: number;
  /** Of how many records they are made; `encode` holds them. */
  readonly records: number;
  /** Encodes the one with this index. */
  readonly encode: (index: number) => Buffer;
}

interface Kept {
  readonly rotation: Rotation;
  readonly encoded: (Buffer | undefined)[];
  /** What it may take in memory, once all orders are encoded. */
  readonly bytes: number;
  next: number;
}

/** Bytes of a packet in front of what decides on its response: the id. */
const ID_BYTES = 2;
/** No question of the cluster is longer; longer packets are not kept. */
const MAX_PACKET = 300;
/** Of all that is kept. A name with thousands of endpoints, asked in many spellings, would fill the memory. */
const MAX_BYTES = 2 ** 25;
/** A record as an object, about. */
const RECORD_BYTES = 200;

/**
 * Encoded responses by the packet that asked, apart from its id: a name that is asked again costs a look into a map and a copy. All are
 * dropped when the state of the cluster has changed; the oldest ones are dropped when there are too many, or too many bytes.
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

  /** The response to a packet, with its id; undefined when there is none of this generation. */
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

  /** Keeps responses of the generation that was last looked for, and returns the first. */
  keep(packet: Buffer, rotation: Rotation): Buffer {
    const first = rotation.encode(0);
    const bytes = packet.length + first.length * rotation.count + rotation.records * RECORD_BYTES;
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
