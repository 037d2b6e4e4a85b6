import { createHash } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type CancelTimer, type Clock, errorMessage, type NewUid, onAbort, systemUid } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { PullProgress, PullReport } from '../runtime/images.ts';

/** The leader sends its progress at least this often, because an engine reports nothing while it verifies and extracts layers. */
const REPEAT_MS = 30_000;
/** A follower gives up a leader that sends nothing for this long: five messages in a row are missing. */
const SILENCE_MS = 150_000;
/** Progress of a pull before the engine's first report. Agents of earlier versions understand it; no Event is emitted for it. */
const NOTHING_YET: PullProgress = { bytes: 0, totalBytes: 1 };
/** Characters of the key's hash in a socket's name. The path of a Unix socket has at most 107 bytes. */
const NAME_LENGTH = 24;

/** How a pull ended. `tookMs` is how long the engine took, in milliseconds; `message` says why the registry refused the pull. */
export type PullEnd =
  | { readonly kind: 'pulled'; readonly tookMs: number }
  | { readonly kind: 'failed'; readonly message: string };

/**
 * The receiver of a pull's progress in this process. `arrive` and `leave` are called when another agent starts or stops following
 * the pull.
 */
export interface PullAudience {
  readonly report: PullReport;
  readonly arrive: () => void;
  readonly leave: () => void;
}

/**
 * This agent runs the pull and sends the progress to its followers until it calls `end`, also while there is no news. The
 * engine's own deadline ends a pull without progress. Call `end` once; it does not reject. `given up` lets another agent run the
 * pull.
 */
export interface LedPull {
  readonly kind: 'led';
  readonly report: PullReport;
  readonly end: (end: PullEnd | 'given up') => Promise<void>;
}

/** Joins pulls of several agents. */
export interface PullSharing {
  /**
   * Leads the pull of a key, or follows another agent's pull and returns its result. The key must contain everything that the
   * registry's response depends on: the reference and the credentials.
   */
  join(key: string, audience: PullAudience, signal: AbortSignal): Promise<LedPull | PullEnd>;
}

const UNSHARED: LedPull = { kind: 'led', report: () => undefined, end: async () => undefined };

/** For an engine that only this agent uses. */
export const unsharedPulls: PullSharing = { join: async () => UNSHARED };

type Message = { readonly progress: PullProgress } | PullEnd;

export interface HostPullsOptions {
  /** Shared by the agents of the host. Created when it is first needed. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newUid?: NewUid;
}

/**
 * One pull for all agents of a host that need the same image with the same credentials at the same time. The first agent leads:
 * it listens on a Unix socket in a shared folder and asks the engine. The other agents connect to the socket and receive the
 * progress and the result. When the leader is killed, the kernel closes its connections and a follower takes over, without a
 * release or a timeout.
 *
 * Two kinds of files may stay in the folder, both empty: the socket of a killed agent, until the next pull of the same key is
 * refused there and removes it; and a socket without a key's name, for good, of an agent that was killed before it named the
 * socket.
 *
 * Sharing only saves requests. Who may use the image is decided by the pull records. Where sockets cannot be created, each agent
 * pulls for itself. Agents that find the socket of a killed agent at the same time may both lead; the engine joins their
 * downloads.
 */
export class HostPulls implements PullSharing {
  readonly #options: HostPullsOptions;

  constructor(options: HostPullsOptions) {
    this.#options = options;
  }

  async join(key: string, audience: PullAudience, signal: AbortSignal): Promise<LedPull | PullEnd> {
    const { folder, logger } = this.#options;
    const path = join(folder, createHash('sha256').update(key).digest('hex').slice(0, NAME_LENGTH));
    try {
      for (;;) {
        const found = await this.#follow(path, audience.report, signal);
        if (typeof found === 'object') return found;
        if (found === 'silent') return UNSHARED;
        if (found === 'refused') await rm(path, { force: true });
        const led = await this.#lead(path, audience);
        if (led !== 'taken') return led;
      }
    } catch (error) {
      signal.throwIfAborted();
      logger.warn(
        { path, reason: errorMessage(error) },
        'a pull could not be shared with the other agents of the host',
      );
      return UNSHARED;
    }
  }

  /**
   * The result of another agent's pull. `refused`: the agent of the socket had already ended; `lost`: it ends or gives up during
   * the pull.
   */
  async #follow(
    path: string,
    report: PullReport,
    signal: AbortSignal,
  ): Promise<PullEnd | 'refused' | 'lost' | 'silent'> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<PullEnd | 'refused' | 'lost' | 'silent'>();
    const socket = connect(path);
    let cancel: () => void = () => undefined;
    const hear = () => {
      cancel();
      cancel = this.#options.clock.setTimer(SILENCE_MS, () => resolve('silent'));
    };
    using _ = onAbort(signal, () => reject(signal.reason));
    socket.once('connect', hear);
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') resolve('lost');
      else if (error.code === 'ECONNREFUSED') resolve('refused');
      else if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve('lost');
      else reject(error);
    });
    socket.once('close', () => resolve('lost'));
    const onMessage = (message: Message) => {
      hear();
      if ('progress' in message) report(message.progress);
      else resolve(message);
    };
    readMessages(socket, onMessage, reject);
    try {
      return await promise;
    } finally {
      cancel();
      socket.destroy();
    }
  }

  /** The socket gets its name only when it listens. Otherwise another agent could take it for the socket of a killed agent. */
  async #lead(path: string, audience: PullAudience): Promise<LedPull | 'taken'> {
    const { folder, newUid = systemUid } = this.#options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const followers = new Set<Socket>();
    const server = createServer((socket) => welcome(socket, followers, audience));
    const own = join(folder, newUid().slice(0, NAME_LENGTH));
    await listen(server, own);
    try {
      await link(own, path);
    } catch (error) {
      server.close();
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return 'taken';
      throw error;
    }
    // The hard link `path` remains.
    await this.#remove(own);
    const { report, stop } = this.#tell(followers);
    return {
      kind: 'led',
      report,
      end: async (end) => {
        stop();
        // Remove the name before closing: another agent may reuse a name whose socket refuses connections.
        await this.#remove(path);
        server.close();
        for (const socket of followers) {
          if (end === 'given up') socket.destroy();
          else socket.end(formatMessage(end));
        }
      },
    };
  }

  /** Sends the progress to the followers: on each report, and at intervals until `stop`. */
  #tell(followers: ReadonlySet<Socket>): { readonly report: PullReport; readonly stop: () => void } {
    let progress = NOTHING_YET;
    let cancel: CancelTimer;
    const tell = () => {
      // Skip a follower that reads slowly; it gets a later report.
      for (const socket of followers) if (socket.writableLength === 0) send(socket, { progress });
    };
    const repeat = () => {
      cancel = this.#options.clock.setTimer(REPEAT_MS, repeat);
      tell();
    };
    cancel = this.#options.clock.setTimer(REPEAT_MS, repeat);
    const report: PullReport = (news) => {
      progress = news;
      tell();
    };
    return { report, stop: () => cancel() };
  }

  /** Only logs a failure: a socket that remains refuses connections once it is closed, so no later pull fails because of it. */
  async #remove(path: string): Promise<void> {
    try {
      await rm(path, { force: true });
    } catch (error) {
      const reason = errorMessage(error);
      this.#options.logger.warn({ path, reason }, 'cannot remove the socket of a shared pull');
    }
  }
}

function welcome(socket: Socket, followers: Set<Socket>, { arrive, leave }: PullAudience): void {
  followers.add(socket);
  arrive();
  // `close` follows: the other agent has ended.
  socket.on('error', () => undefined);
  socket.once('close', () => {
    followers.delete(socket);
    leave();
  });
  socket.resume();
}

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

function send(socket: Socket, message: Message): void {
  socket.write(formatMessage(message));
}

/** A line of JSON. */
function formatMessage(message: Message): string {
  return `${JSON.stringify(message)}\n`;
}

function readMessages(socket: Socket, onMessage: (message: Message) => void, onError: (error: unknown) => void): void {
  let rest = '';
  socket.setEncoding('utf8');
  socket.on('data', (text: string) => {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    try {
      // Only agents can write to the folder; they may be of another version.
      for (const line of lines) onMessage(JSON.parse(line) as Message);
    } catch (error) {
      onError(error);
    }
  });
}
