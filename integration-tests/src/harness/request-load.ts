import { spawn } from 'node:child_process';
import { finished } from 'node:stream/promises';

/**
 * Answers HTTP on 8080 with its name, and on `/ready` until `/unready/` was asked. Once it is to stop, it closes each connection with its
 * response, and ends when it has none and got no request for `QUIET_MS`: a kept-alive connection is never closed below a request.
 */
export const GRACEFUL_SERVER = `
const name = require('os').hostname();
let [isReady, isStopping, lastAt] = [true, false, 0];
const open = new Set();
const server = require('http').createServer((request, response) => {
  if (isStopping) response.setHeader('connection', 'close');
  if (request.url === '/') lastAt = performance.now();
  if (request.url === '/unready/') isReady = false;
  if (request.url === '/ready' && !isReady) response.statusCode = 503;
  response.end(name);
});
server.keepAliveTimeout = 0;
server.on('connection', (socket) => open.add(socket) && socket.on('close', () => open.delete(socket)));
server.listen(8080, '0.0.0.0');
process.on('SIGTERM', () => {
  isStopping = true;
  lastAt = performance.now();
  setInterval(() => {
    if (open.size === 0 && performance.now() - lastAt > Number(process.env.QUIET_MS)) process.exit(0);
  }, 50);
});
`;

/** What a load has met so far. Times are Unix milliseconds. */
export interface LoadReport {
  readonly answered: number;
  readonly failures: readonly LoadFailure[];
  /** When the last new connection to each server was opened, by the server's name. */
  readonly lastOpened: Readonly<Record<string, number>>;
}

export interface LoadFailure {
  /** When the request began, and when it failed. */
  readonly at: number;
  readonly until: number;
  readonly why: string;
  /** Of a kept-alive connection: whose it is. */
  readonly server?: string;
}

/**
 * Requests at a steady rate, until its input ends; writes a LoadReport. What it cannot send in time, for the machine is busy or too many
 * wait for an answer, it leaves out.
 */
const LOAD = `
const [target, perSecond, connections] = process.argv.slice(1);
const http = require('http');
const keepAlive = connections === 'kept-alive';
const agent = new http.Agent({ keepAlive, maxSockets: keepAlive ? 20 : Infinity, scheduling: 'fifo' });
const [failures, lastOpened, servers] = [[], {}, new WeakMap()];
let [begun, done, answered, isEnding] = [0, 0, 0, false];
const ask = () => {
  begun++;
  const at = Date.now();
  let isOver = false;
  const end = (why) => {
    if (isOver) return;
    isOver = true;
    done++;
    if (why === undefined) answered++;
    else failures.push({ at, until: Date.now(), why, server: request.reusedSocket ? servers.get(request.socket) : undefined });
    if (isEnding && done === begun) finish();
  };
  const request = http.get(target, { agent, timeout: 30000 }, (response) => {
    let text = '';
    response.on('data', (part) => (text += part));
    response.on('end', () => {
      servers.set(request.socket, text);
      if (!request.reusedSocket) lastOpened[text] = Math.max(lastOpened[text] ?? 0, at);
      end(response.statusCode === 200 && text !== '' ? undefined : 'status ' + response.statusCode);
    });
    response.on('error', ({ code, message }) => end(code ?? message));
  });
  request.on('timeout', () => request.destroy(Object.assign(new Error(), { code: 'TIMEOUT' })));
  request.on('error', ({ code, message }) => end(code ?? message));
};
let lastAt = performance.now();
const timer = setInterval(() => {
  const now = performance.now();
  const due = Math.min(10, Math.floor(((now - lastAt) * Number(perSecond)) / 1000));
  if (due === 0) return;
  lastAt = due === 10 ? now : lastAt + (due * 1000) / Number(perSecond);
  for (let i = 0; i < due && begun - done < 100; i++) ask();
}, 5);
const finish = () => process.stdout.write(JSON.stringify({ answered, failures, lastOpened }), () => process.exit());
process.stdin.on('end', () => {
  clearInterval(timer);
  isEnding = true;
  if (done === begun) finish();
}).resume();
`;

/** Requests that a container sends until they are ended. */
export interface RequestLoad {
  /** Ends the load when all requests under way are over. */
  end(): Promise<LoadReport>;
}

/** Sends so many requests a second from a container that has Node.js, each on a new connection or on 20 that are kept alive. */
export function startLoad(
  container: string,
  url: string,
  perSecond: number,
  connections: 'new' | 'kept-alive',
): RequestLoad {
  const program = ['exec', '-i', container, 'node', '-e', LOAD, '--', url, String(perSecond), connections];
  const child = spawn('docker', program, { stdio: ['pipe', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk));
  const ended = finished(child.stdout);
  ended.catch(() => undefined);
  return {
    end: async () => {
      child.stdin.end();
      await ended;
      return JSON.parse(output) as LoadReport;
    },
  };
}
