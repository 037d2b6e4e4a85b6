import { type Clock, errorMessage, pause } from '@gantry/base';
import { EtcdError, isDefinite } from '@gantry/etcd';
import type { GroupMember, HealthCheck, Logger } from '@gantry/service';

const ASK_EVERY_MS = 1000;
/**
 * etcd is lost when so many rounds of questions in a row have no answer: its members take up to 4 s to elect a leader. Rounds are counted,
 * not seconds: time in which this process does not run must not count.
 */
const LOST_AFTER = 5;
/** After so many rounds without an answer, while another API server gets answers, this one is cut off. */
const CUT_AFTER = 3;
/** The longest time that a write waits for a lost etcd. */
const WRITE_WAIT_MS = 5000;
/** Rounds after which a load balancer has noticed that this API server is not ready: HAProxy asks every 3 s. */
const NOTICED_AFTER = 4;

export interface EtcdReachOptions {
  /** One function per member. Resolves when it has answered a read that needs a quorum, or rejects within seconds. */
  readonly members: readonly ((signal: AbortSignal) => Promise<unknown>)[];
  /** Ends writes that have waited for longer. */
  readonly giveUpWrites: (waitedMs: number) => void;
  /** Ends all reads that wait. */
  readonly giveUpReads: () => void;
}

interface Dependencies extends EtcdReachOptions {
  /** Whether another API server is ready and has answers of etcd. */
  readonly isAnotherReady: () => Promise<boolean>;
  /** Ends the watches, and each connection after its running responses. */
  readonly releaseConnections: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** etcd does not answer. */
class EtcdLostError extends Error {
  override readonly name = 'EtcdLostError';
}

/**
 * Whether etcd answers this process. While it does not, the process is not ready, and waiting writes end. If another API server is ready,
 * clients are sent there: the process is not ready earlier, requests do not wait, and connections end. If none is, they stay where they are,
 * because a new connection would not help them.
 */
export class EtcdReach {
  readonly #options: Dependencies;
  readonly #asking = new Set<number>();
  #answered: 'yes' | 'no' = 'yes';
  #reason = 'no answer';
  #silentRounds = 0;
  /** Rounds for which it has not been ready. */
  #unreadyRounds = 0;
  /** What the other API servers said since etcd's last answer. */
  #others: 'unknown' | 'ready' = 'unknown';
  #othersAre: 'asked' | 'not-asked' = 'not-asked';

  constructor(options: Dependencies) {
    this.#options = options;
  }

  /** Whether the last question was answered in time. */
  get isAnswered(): boolean {
    return this.#silentRounds === 0;
  }

  get #isLost(): boolean {
    return this.#silentRounds >= LOST_AFTER;
  }

  get check(): HealthCheck {
    return {
      name: 'etcd',
      check: () => {
        if (this.#unreadyRounds > 0) throw new EtcdLostError(`does not answer: ${this.#reason}`);
      },
    };
  }

  get member(): GroupMember {
    return { name: 'etcd-reach', run: (signal) => this.#run(signal) };
  }

  async #run(signal: AbortSignal): Promise<void> {
    const { clock, members } = this.#options;
    for (let turn = 0; !signal.aborted; turn++) {
      // All members while none answers: one of them may be the only one that this process reaches.
      const asked = this.#silentRounds === 0 ? [turn % members.length] : members.keys();
      for (const member of asked) void this.#ask(member, signal);
      await pause(clock, ASK_EVERY_MS, signal);
      if (!signal.aborted) this.#judge();
    }
  }

  async #ask(member: number, signal: AbortSignal): Promise<void> {
    if (this.#asking.has(member)) return;
    this.#asking.add(member);
    try {
      await this.#options.members[member]?.(signal);
      this.#answered = 'yes';
    } catch (error) {
      // Other errors are answers, too.
      if (error instanceof EtcdError && isDefinite(error)) this.#answered = 'yes';
      this.#reason = errorMessage(error);
    } finally {
      this.#asking.delete(member);
    }
  }

  #judge(): void {
    const { giveUpWrites, giveUpReads, releaseConnections, logger } = this.#options;
    const wasReady = this.#unreadyRounds === 0;
    this.#silentRounds = this.#answered === 'yes' ? 0 : this.#silentRounds + 1;
    this.#answered = 'no';
    if (this.isAnswered) this.#others = 'unknown';
    const isAnotherReady = this.#others === 'ready';
    const isReady = !this.#isLost && !(isAnotherReady && this.#silentRounds >= CUT_AFTER);
    this.#unreadyRounds = isReady ? 0 : this.#unreadyRounds + 1;
    if (wasReady && !isReady) logger.warn({ reason: this.#reason }, 'etcd does not answer: not ready');
    if (isReady && !wasReady) logger.info({}, 'etcd answers again');
    // Before requests end: their responses then end the connections.
    if (isAnotherReady && this.#unreadyRounds > NOTICED_AFTER) releaseConnections();
    if (this.#isLost) giveUpWrites(isAnotherReady ? 0 : WRITE_WAIT_MS);
    if (this.#isLost && isAnotherReady) giveUpReads();
    if (!this.isAnswered) void this.#askOthers();
  }

  /** Takes no time of a round: another API server may hang. */
  async #askOthers(): Promise<void> {
    if (this.#othersAre === 'asked') return;
    this.#othersAre = 'asked';
    const isReady = await this.#options.isAnotherReady().catch(() => false);
    this.#othersAre = 'not-asked';
    this.#others = isReady ? 'ready' : 'unknown';
  }
}
