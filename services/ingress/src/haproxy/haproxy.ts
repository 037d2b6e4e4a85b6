import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { type Clock, errorMessage } from '@gantry/base';
import type { Logger } from '@gantry/service';
import { CertificateStore } from './certificate-store.ts';
import { formatLines, planChange, type ServerPath } from './change.ts';
import { formatFiles, type Frontend, type RunFiles, runFilesIn } from './configuration.ts';
import { ask, HaproxyError, type ProxyState, untilAnswering } from './proxy-state.ts';

export interface HaproxyOptions {
  /** A folder in memory, because keys are written to it. */
  readonly folder: string;
  readonly frontend: Frontend;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** HAProxy's answer to a successful command. */
const EXPECTED = /^(New server registered\.)?$/;
/** The maximum number of servers per call. Changed endpoints do not wait longer than these take. */
const MAX_AT_ONCE = 32;

/**
 * A running HAProxy: one master process and its workers. It replaces workers without closing a listening socket. Changes go to the worker
 * as commands. Only if these fail, or if there are too few backends, a new worker starts with files of the whole state. The old worker
 * ends with its last connection.
 */
export class Haproxy {
  readonly #options: HaproxyOptions;
  readonly #files: RunFiles;
  readonly #certificates: CertificateStore;
  readonly #leaving = new Set<ServerPath>();
  readonly #ended = Promise.withResolvers<void>();
  #child: ChildProcess | undefined;
  #applied: ProxyState | undefined;
  #reloads = 0;

  constructor(options: HaproxyOptions) {
    this.#options = options;
    this.#files = runFilesIn(options.folder);
    this.#certificates = new CertificateStore(this.#files);
  }

  /** Resolves when the process has ended. It does not end by itself. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** How often a new worker has started. */
  get reloads(): number {
    return this.#reloads;
  }

  /** The names of refused certificates, with HAProxy's reasons. */
  get refusedCertificates(): ReadonlyMap<string, string> {
    return this.#certificates.refused;
  }

  /** Brings HAProxy to a state, and starts it the first time. Resolves with whether a new worker has started. */
  async apply(state: ProxyState, signal: AbortSignal): Promise<'new worker' | 'same worker'> {
    const isNew = !(await this.#change(state, signal));
    if (isNew) await this.#replace(state, signal);
    this.#applied = state;
    await this.#certificates.apply(state.certificates, signal);
    await this.#removeLeaving(signal);
    return isNew ? 'new worker' : 'same worker';
  }

  /** The remaining work: certificates to add soon, or servers to remove after their last connection has ended. */
  get rest(): 'none' | 'soon' | 'later' {
    if (this.#certificates.isUnfinished) return 'soon';
    return this.#leaving.size > 0 ? 'later' : 'none';
  }

  /** Removes servers whose last connection has ended. The servers take turns. */
  async #removeLeaving(signal: AbortSignal): Promise<void> {
    for (const path of [...this.#leaving].slice(0, MAX_AT_ONCE)) {
      const answer = await ask(this.#files.socket, `del server ${path}`, signal);
      this.#leaving.delete(path);
      if (answer !== 'Server deleted.') this.#leaving.add(path);
    }
  }

  /** Makes HAProxy accept no more connections and end with the last one. */
  drain(): void {
    this.#child?.kill('SIGUSR1');
  }

  stop(): void {
    this.#child?.kill('SIGTERM');
  }

  /** Returns whether the running worker could make the change. */
  async #change(state: ProxyState, signal: AbortSignal): Promise<boolean> {
    const applied = this.#applied;
    if (applied === undefined || applied.slots !== state.slots) return false;
    const { arriving, maps, departing, leaving, returning } = planChange(applied, state, this.#leaving, this.#files);
    for (const path of returning) this.#leaving.delete(path);
    for (const path of leaving) this.#leaving.add(path);
    try {
      await this.#commands(arriving, signal);
      for (const map of maps) {
        if (map.kind === 'commands') await this.#commands(map.commands, signal);
        else await this.#replaceMap(map.file, map.payloads, signal);
      }
      await this.#commands(departing, signal);
      return true;
    } catch (error) {
      if (!(error instanceof HaproxyError)) throw error;
      this.#options.logger.warn({ reason: errorMessage(error) }, 'a change was refused: a new worker begins');
      return false;
    }
  }

  async #commands(commands: readonly string[], signal: AbortSignal): Promise<void> {
    for (const line of formatLines(commands)) await this.#command(line, signal);
  }

  /** Requests see either the old map or the new one. */
  async #replaceMap(file: string, payloads: readonly string[], signal: AbortSignal): Promise<void> {
    const version = /^New version created: (\d+)$/.exec(
      await ask(this.#files.socket, `prepare map ${file}`, signal),
    )?.[1];
    if (version === undefined) throw new HaproxyError(`no new version of ${file}`);
    for (const payload of payloads) await this.#command(`add map @${version} ${file} <<\n${payload}\n`, signal);
    await this.#command(`commit map @${version} ${file}`, signal);
  }

  async #command(line: string, signal: AbortSignal): Promise<void> {
    const answers = (await ask(this.#files.socket, line, signal)).split('\n');
    const unexpected = answers.find((answer) => !EXPECTED.test(answer.trim()));
    if (unexpected !== undefined) throw new HaproxyError(unexpected);
  }

  async #replace(state: ProxyState, signal: AbortSignal): Promise<void> {
    // Certificates that HAProxy has not accepted yet are added one by one afterwards, so none can prevent the start.
    const certificates = this.#certificates.taken(state.certificates);
    const files = formatFiles({ ...state, certificates }, this.#files, this.#options.frontend);
    await mkdir(this.#options.folder, { recursive: true });
    for (const [path, text] of files) await writeFile(path, text, { mode: 0o600 });
    if (this.#child === undefined) await this.#start(signal);
    else await this.#reload(signal);
    this.#leaving.clear();
    await this.#certificates.reset(certificates);
  }

  async #start(signal: AbortSignal): Promise<void> {
    const { configuration, masterSocket, socket } = this.#files;
    for (const path of [masterSocket, socket]) await rm(path, { force: true });
    const child = spawn('haproxy', ['-W', '-db', '-S', masterSocket, '-f', configuration], {
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    this.#child = child;
    createInterface({ input: child.stderr }).on('line', (line) => this.#log(line));
    const failed = Promise.withResolvers<never>();
    // The race below handles a failed start. `ended` reports a later failure.
    failed.promise.catch(() => undefined);
    child.once('error', failed.reject);
    child.once('exit', (code) => {
      this.#ended.resolve();
      failed.reject(new HaproxyError(`it ended with ${code ?? 'a signal'}`));
    });
    await Promise.race([untilAnswering(this.#files.socket, this.#options.clock, signal), failed.promise]);
  }

  /** Logs HAProxy's messages. A backend without servers is no alert, because an Ingress may use a Service without endpoints. */
  #log(line: string): void {
    const isAlert = line.startsWith('[ALERT]') && !line.endsWith('has no server available!');
    this.#options.logger[isAlert ? 'error' : 'debug']({ line }, 'HAProxy');
  }

  async #reload(signal: AbortSignal): Promise<void> {
    const answer = await ask(this.#files.masterSocket, 'reload', signal);
    if (!answer.startsWith('Success=1'))
      throw new HaproxyError(`a new worker could not begin: ${answer.slice(0, 2000)}`);
    this.#reloads += 1;
  }
}
