import { createHash } from 'node:crypto';
import { link, mkdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { type CancelTimer, type Clock, errorMessage, type NewUid, onAbort, systemUid } from '@gantry/base';
import type { Logger } from '@gantry/service';
import type { PullProgress, PullReport } from '../runtime/images.ts';

/** A leader says how far it is at least this often: an engine has no news of a download while it verifies and extracts layers. */
const REPEAT_MS = 30_000;
/** An agent that says nothing for this long is stuck, whatever its engine does: five of its messages are missing. */
const SILENCE_MS = 150_000;
/** Of a pull whose engine has reported nothing yet. Agents of earlier versions understand it; no Event follows from it. */
const NOTHING_YET: PullProgress = { bytes: 0, totalBytes: 1 };
/** Of the hash of a key: the path of a socket has at most 107 bytes. */
const NAME_LENGTH = 24;

/** How a pull ended. `tookMs` is the time of the engine, in milliseconds; `message` says why the registry refused it. */
export type PullEnd =
  | { readonly kind: 'pulled'; readonly tookMs: number }
  | { readonly kind: 'failed'; readonly message: string };

/** Who hears of a pull in this process. `arrive` and `leave` are called as other agents begin to wait for it and end. */
export interface PullAudience {
  readonly report: PullReport;
  readonly arrive: () => void;
  readonly leave: () => void;
}

/**
 * This agent asks the engine, and tells the others, with or without news, until `end`: the engine's own deadline ends a pull that it makes
 * no progress with. `end` is to be called once, and does not reject; `given up` lets another agent ask.
 */
export interface LedPull {
  readonly kind: 'led';
  readonly report: PullReport;
  readonly end: (end: PullEnd | 'given up') => Promise<void>;
}

/** Joins pulls of several agents. */
export interface PullSharing {
  /**
   * Leads the pull of a key, or waits for that of another agent and returns its end. The key must say everything that the registry's
   * response depends on: the reference and the credentials.
   */
  join(key: string, audience: PullAudience, signal: AbortSignal): Promise<LedPull | PullEnd>;
}

const UNSHARED: LedPull = { kind: 'led', report: () => undefined, end: async () => undefined };

/** For a process whose engine no other agent uses. */
export const unsharedPulls: PullSharing = { join: async () => UNSHARED };

type Message = { readonly progress: PullProgress } | PullEnd;

export interface HostPullsOptions {
  /** The agents of the host share it. It is made when it is needed. */
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly newUid?: NewUid;
}

/**
 * One pull for all agents of a host that need the same image with the same credentials at once. The agent that comes first listens on a
 * Unix socket in a folder that they share and asks the engine; the others connect and hear the progress and the end. The kernel closes the
 * connections of an agent that is killed, and one of the others takes its place: nothing has to be released, and no time has to pass.
 *
 * What may stay in the folder: the socket of an agent that was killed, until the next pull of the same key finds that it is refused and
 * removes it, and one without a key, for good, where the agent was killed between making it and naming it. Both are empty.
 *
 * It saves requests and decides nothing: who may use the image is in the records of pulls. Where sockets cannot be made each agent
 * pulls for itself. Agents that find the socket of a killed one at the same instant may both lead; the engine joins their downloads.
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

  /** The end of another agent's pull. `refused` when the agent that made the socket has ended, `lost` when it ends now or gives up. */
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

  /** The socket has its name only when it listens, so that no other agent takes it for that of one that was killed. */
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
    // A link is a name of its own.
    await this.#remove(own);
    const { report, stop } = this.#tell(followers);
    return {
      kind: 'led',
      report,
      end: async (end) => {
        stop();
        // Its name goes first: once it is refused, another agent may give the name to a socket of its own.
        await this.#remove(path);
        server.close();
        for (const socket of followers) {
          if (end === 'given up') socket.destroy();
          else socket.end(formatMessage(end));
        }
      },
    };
  }

  /** Tells the followers how far the pull is: when there is news, and at intervals until `stop`. */
  #tell(followers: ReadonlySet<Socket>): { readonly report: PullReport; readonly stop: () => void } {
    let progress = NOTHING_YET;
    let cancel: CancelTimer;
    const tell = () => {
      // One that reads slowly gets a later number.
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

  /** A socket that stays is refused when its agent has closed it: no pull fails for it. */
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
  // It is followed by `close`: the other agent has ended.
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
      // Only agents write below their folder; they may be of another version.
      for (const line of lines) onMessage(JSON.parse(line) as Message);
    } catch (error) {
      onError(error);
    }
  });
}
