/**
 * The limits of one turn of the event loop. It answers at most this many questions, and stops after an answer that exceeds the bytes. A turn
 * reads 32 packets (libuv), more than it answers. So a flood fills the share of its own address, and not the kernel's buffer, where it would
 * displace other packets.
 */
const TURN = { questions: 16, bytes: 2 ** 16 };
/** The maximum numbers of waiting questions, in total and per address, that let a further one over UDP wait. */
const WAITING = { max: 8192, maxOfAddress: 256 };

/** Answers a question and returns the size of the answer in bytes. */
export type AnswerQuestion = () => number;

/**
 * The questions that wait for their answer. Addresses take turns, one question each, so that a question waits for at most one of each other
 * address, however many these ask.
 */
export class QuestionQueue {
  /** By address. The first one is next. */
  readonly #waiting = new Map<string, AnswerQuestion[]>();
  #count = 0;

  /** The number of questions that wait. */
  get size(): number {
    return this.#count;
  }

  /** Whether a further question of the address may wait. Otherwise it should be dropped. */
  hasRoom(address: string): boolean {
    return this.#count < WAITING.max && (this.#waiting.get(address)?.length ?? 0) < WAITING.maxOfAddress;
  }

  add(address: string, answer: AnswerQuestion): void {
    const own = this.#waiting.get(address);
    if (own === undefined) this.#waiting.set(address, [answer]);
    else own.push(answer);
    this.#count += 1;
    if (this.#count === 1) setImmediate(() => this.#takeTurn());
  }

  #takeTurn(): void {
    let bytes = 0;
    for (let answered = 0; answered < TURN.questions && bytes < TURN.bytes; answered++) {
      const [next] = this.#waiting;
      if (next === undefined) return;
      const [address, own] = next;
      this.#waiting.delete(address);
      const answer = own.shift();
      if (own.length > 0) this.#waiting.set(address, own);
      bytes += answer?.() ?? 0;
      this.#count -= 1;
    }
    if (this.#count > 0) setImmediate(() => this.#takeTurn());
  }
}
