import { type Clock, errorMessage, pause } from '@gantry/base';
import { EtcdError, isDefinite } from '@gantry/etcd';
import type { GroupMember, HealthCheck, Logger } from '@gantry/service';

const ASK_EVERY_MS = 1000;
/**
 * etcd is lost when so many questions in a row have no answer. Rounds are counted, not seconds: time in which this process does not run
 * must not count.
 */
const LOST_AFTER = 5;
/** The longest time that a write waits for a lost etcd. Its client can ask another API server then. */
const WRITE_WAIT_MS = 5000;
/** Rounds after which a load balancer has noticed that this API server is not ready: HAProxy asks every 3 s. */
const NOTICED_AFTER = 4;

export interface EtcdReachOptions {
  /** One function per member. Resolves when it has answered a read that needs a quorum, or rejects within seconds. */
  readonly members: readonly ((signal: AbortSignal) => Promise<unknown>)[];
  /** Ends writes that have waited for longer. */
  readonly giveUpWrites: (waitedMs: number) => void;
}

interface Dependencies extends EtcdReachOptions {
  /** Whether another API server is ready. */
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
 * clients are sent there: their connections end. If none is, they stay where they are, because a new connection would not help them.
 */
export class EtcdReach {
  readonly #options: Dependencies;
  readonly #asking = new Set<number>();
  #answered: 'yes' | 'no' = 'yes';
  #reason = 'no answer';
  #silentRounds = 0;

  constructor(options: Dependencies) {
    this.#options = options;
  }

  get isLost(): boolean {
    return this.#silentRounds >= LOST_AFTER;
  }

  get check(): HealthCheck {
    return {
      name: 'etcd',
      check: () => {
        if (this.isLost) throw new EtcdLostError(`does not answer: ${this.#reason}`);
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
      if (!signal.aborted) await this.#judge();
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

  async #judge(): Promise<void> {
    const { giveUpWrites, isAnotherReady, releaseConnections, logger } = this.#options;
    const wasLost = this.isLost;
    this.#silentRounds = this.#answered === 'yes' ? 0 : this.#silentRounds + 1;
    this.#answered = 'no';
    if (this.isLost !== wasLost) {
      if (this.isLost) logger.warn({ reason: this.#reason }, 'etcd does not answer: not ready');
      else logger.info({}, 'etcd answers again');
    }
    if (!this.isLost) return;
    giveUpWrites(WRITE_WAIT_MS);
    if (this.#silentRounds >= LOST_AFTER + NOTICED_AFTER && (await isAnotherReady())) releaseConnections();
  }
}
