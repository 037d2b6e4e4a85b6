import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { type Clock, onAbort, raceAbort } from '@gantry/base';
import { AgentError } from '../runtime/agent-error.ts';

/** How long an unused helper is kept. */
const IDLE_MS = 60_000;
const MAX_HELPERS = 32;
/** The time limit of one connection, including the start of a helper. A port on a loopback address responds immediately. */
const CONNECT_MS = 30_000;
/**
 * The helper connects to a port and passes the open connection to the parent process; no data goes through the helper. The socket is
 * paused so that the helper does not consume what the server sends. Like Kubernetes' runtimes, it tries IPv4 first. If both fail, it
 * reports the error of IPv4, since a pod may have no IPv6.
 */
const HELPER = `
const { connect } = require('node:net');
const open = (id, port, hosts, first) => {
  const socket = connect({ host: hosts[0], port, allowHalfOpen: true });
  socket.pause();
  socket.once('error', (error) => {
    if (hosts.length > 1) open(id, port, hosts.slice(1), error);
    else process.send({ id, error: (first ?? error).message });
  });
  socket.once('connect', () => process.send({ id }, socket));
};
process.on('message', ({ id, port }) => open(id, port, ['127.0.0.1', '::1']));
process.on('disconnect', () => process.exit());
`;

/** A response of a helper. */
interface DialResponse {
  readonly id: number;
  readonly error?: string;
}

/** The network namespace of a process. */
export interface NetworkNamespace {
  /** Identifies the namespace together with `pid`. The pid alone is not enough, since process ids are reused. */
  readonly key: string;
  readonly pid: number;
  /**
   * Called once after the namespace was entered. Rejects when the process has ended by then and its id may belong to another process. No
   * connection is returned before it has resolved.
   */
  readonly verify: () => Promise<void>;
}

/**
 * Connects to ports on the loopback address of other network namespaces. A process cannot change the namespace of its own sockets. So a
 * helper process enters the namespace, connects, and passes the open connection on. Needs CAP_SYS_ADMIN and CAP_SYS_PTRACE.
 */
export class NamespaceDialer {
  readonly #clock: Clock;
  /** Helpers by namespace, least recently used first. */
  readonly #helpers = new Map<string, Helper>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async connect({ key, pid, verify }: NetworkNamespace, port: number, signal: AbortSignal): Promise<Socket> {
    const helper = this.#helper(`${key}/${pid}`, pid);
    const connecting = helper.connect(port, verify);
    const stop = new AbortController();
    const cancel = this.#clock.setTimer(CONNECT_MS, () =>
      stop.abort(new AgentError('ConnectFailed', `port ${port} has not answered within ${CONNECT_MS / 1000} s`)),
    );
    using _ = onAbort(signal, () => stop.abort(signal.reason));
    try {
      return await raceAbort(connecting, stop.signal);
    } catch (error) {
      connecting.then(
        (late) => late.destroy(),
        () => undefined,
      );
      throw error;
    } finally {
      cancel();
    }
  }

  #helper(key: string, pid: number): Helper {
    const known = this.#helpers.get(key);
    if (known !== undefined && known.state !== 'ended') {
      this.#helpers.delete(key);
      this.#helpers.set(key, known);
      return known;
    }
    const unused = [...this.#helpers].find(([, { state }]) => state !== 'busy');
    if (this.#helpers.size >= MAX_HELPERS) {
      if (unused === undefined) throw new AgentError('ConnectFailed', 'connections to too many pods are being opened');
      this.#helpers.delete(unused[0]);
      unused[1].close();
    }
    const helper = new Helper(pid, this.#clock, () => {
      if (this.#helpers.get(key) === helper) this.#helpers.delete(key);
    });
    this.#helpers.set(key, helper);
    return helper;
  }
}

/** A process in another network namespace. It ends when it is unused for a while, and with this process. */
class Helper {
  readonly #clock: Clock;
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<Socket>>();
  #verified: Promise<void> | undefined;
  #lastId = 0;
  #output = '';
  #cancelIdle = () => undefined as void;

  constructor(pid: number, clock: Clock, onClosed: () => void) {
    this.#clock = clock;
    this.#child = spawn(
      'nsenter',
      [`--net=/proc/${pid}/ns/net`, '--', process.execPath, '--max-old-space-size=16', '-e', HELPER],
      { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
    );
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#output = (this.#output + text).slice(-1000);
    });
    const end = () => {
      onClosed();
      const message = `the pod's network cannot be entered: ${this.#output.trim()}`;
      for (const { reject } of this.#waiting.values()) reject(new AgentError('ConnectFailed', message));
      this.#waiting.clear();
      this.#cancelIdle();
    };
    this.#child.once('error', end).once('close', end);
    this.#child.on('message', (answer, socket) => this.#answer(answer as DialResponse, socket));
  }

  get state(): 'idle' | 'busy' | 'ended' {
    if (!this.#child.connected) return 'ended';
    return this.#waiting.size === 0 ? 'idle' : 'busy';
  }

  async connect(port: number, verify: () => Promise<void>): Promise<Socket> {
    const socket = await this.#open(port);
    this.#verified ??= verify();
    try {
      await this.#verified;
    } catch (error) {
      socket.destroy();
      this.close();
      throw error;
    }
    return socket;
  }

  #open(port: number): Promise<Socket> {
    // When no descriptors or processes are left, spawn reports the error later, but there is no child now.
    if (this.state === 'ended') {
      return Promise.reject(
        new AgentError('ConnectFailed', "the pod's network cannot be entered: no process can be started"),
      );
    }
    this.#cancelIdle();
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<Socket>();
    this.#waiting.set(id, waiting);
    // A failure ends the helper and rejects everything that waits for it.
    this.#child.send({ id, port }, () => undefined);
    return waiting.promise;
  }

  close(): void {
    this.#cancelIdle();
    if (this.#child.connected) this.#child.disconnect();
  }

  #answer({ id, error }: DialResponse, socket: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.state === 'idle') this.#cancelIdle = this.#clock.setTimer(IDLE_MS, () => this.close());
    if (!(socket instanceof Socket)) {
      waiting?.reject(new AgentError('ConnectFailed', error ?? 'the connection was lost'));
      return;
    }
    // The property is not passed with the socket.
    socket.allowHalfOpen = true;
    // A reset may arrive before the connection is returned. The caller notices it when reading.
    socket.on('error', () => undefined);
    waiting?.resolve(socket);
  }
}
