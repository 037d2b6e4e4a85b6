import type { Mutant } from '../mutant.ts';

const HTTP = 'services/apiserver/src/http';
const STARTS = 'packages/base/src/starts.ts';
const STARTS_TEST = 'packages/base/src/starts.test.ts';
const SERVER_TESTS = [`${HTTP}/begin-in-turns.test.ts`];
const WATCH = 'packages/service/src/event-loop/event-loop-watch.ts';
const WATCH_TESTS = ['packages/service/src/event-loop/event-loop-watch.test.ts'];
const CONNECTIONS = 'packages/service/src/connections';

/** What many clients at once can do to the event loop of a server. */
export const CROWD_MUTANTS: readonly Mutant[] = [
  {
    name: 'a crowd of requests begins in one round of the event loop',
    file: STARTS,
    text: `    if (this.#waiting.size === 0 && this.#hasTime()) {
      begin();`,
    replacement: `    if (this.#waiting.size >= 0) {
      begin();`,
    tests: ['packages/base/src/starts.test.ts', ...SERVER_TESTS],
    protects: 'all clients of an API server, from a stall as long as the requests of a crowd together',
  },
  {
    name: 'what comes later begins before what waits',
    file: STARTS,
    text: 'if (this.#waiting.size === 0 && this.#hasTime()) return undefined;',
    replacement: 'if (this.#hasTime()) return undefined;',
    tests: ['packages/base/src/starts.test.ts'],
    protects: 'requests of a crowd, which would wait for ever behind new ones',
  },
  {
    name: 'a source takes as many turns as it has waiting',
    file: STARTS,
    text: 'const id = isKnown || this.#counts[kind] < sources ? source : kind;',
    replacement: 'const id = isKnown && sources < 0 ? source : kind;',
    tests: [STARTS_TEST],
    protects: 'heartbeats and leaders, from waiting behind all requests of a crowd of one user',
  },
  {
    name: 'users wait behind a crowd of addresses',
    file: STARTS,
    text: 'const queue = this.#turns[first].shift() ?? this.#turns[this.#next].shift();',
    replacement: 'const queue = this.#turns.address.shift() ?? this.#turns.user.shift();',
    tests: [STARTS_TEST],
    protects: 'known users, from new connections of as many addresses as there are pods',
  },
  {
    name: 'a source may let any number wait',
    file: STARTS,
    text: 'queue.begins.size >= ofSource || this.#size >= total',
    replacement: 'this.#size >= total',
    tests: [STARTS_TEST, ...SERVER_TESTS],
    protects: 'the memory of an API server, and the room of other users in its queue',
  },
  {
    name: 'any number of requests may wait',
    file: STARTS,
    text: 'queue.begins.size >= ofSource || this.#size >= total',
    replacement: 'queue.begins.size >= ofSource',
    tests: [STARTS_TEST],
    protects: 'the memory of an API server, from many users that let much wait',
  },
  {
    name: 'every source has a queue of its own',
    file: STARTS,
    text: 'const id = isKnown || this.#counts[kind] < sources ? source : kind;',
    replacement: 'const id = isKnown || sources > 0 ? source : kind;',
    tests: [STARTS_TEST],
    protects: 'the memory of an API server, and turns of users, from names and addresses without end',
  },
  {
    name: 'requests of a known user wait among those of its address',
    file: `${HTTP}/https-server.ts`,
    text: 'const source = connectionOf(transportOf(req))?.source ?? `',
    replacement: 'const source: Source = `',
    tests: SERVER_TESTS,
    protects: 'users behind the load balancer, who have one address',
  },
  {
    name: 'a request that is refused a turn is never answered',
    file: `${HTTP}/https-server.ts`,
    text: 'if (!isAccepted) refuse(req, res, clock);',
    replacement: 'void isAccepted;',
    tests: SERVER_TESTS,
    protects: 'clients in a crowd, from waiting for ever',
  },
  {
    name: 'a call that is refused a turn fails as if the server had an error',
    file: 'packages/service/src/grpc/call-failures.ts',
    text: 'if (!(error instanceof CrowdError)) return toGrpcError(error);',
    replacement: 'return toGrpcError(error);',
    tests: ['packages/service/src/grpc/grpc-server.test.ts'],
    protects: 'clients in a crowd, which try again later what was refused for it',
  },
  {
    name: 'calls of all users of an address wait in one queue',
    file: 'packages/service/src/grpc/peers.ts',
    text: 'return name === undefined ? `address:${addressOf(call.getPeer())}` : `user:${name}`;',
    replacement: 'return `address:${addressOf(call.getPeer())}${name?.slice(0, 0)}`;',
    tests: ['services/apiserver/src/endpoints/grpc/turns-of-users.test.ts'],
    protects: 'heartbeats and leaders, from waiting behind all calls of a crowd',
  },
  {
    name: 'requests begin without a turn',
    file: `${HTTP}/https-server.ts`,
    text: 'if (!hasLeft(res)) router(req as Request, res as Response, () => res.destroy());\n    });',
    replacement: '});\n    router(req as Request, res as Response, () => res.destroy());',
    tests: SERVER_TESTS,
    protects: 'the event loop of an API server, from a crowd of requests',
  },
  {
    name: 'a request of a client that has left is served',
    file: `${HTTP}/https-server.ts`,
    text: 'if (!hasLeft(res)) router(',
    replacement: 'router(',
    tests: SERVER_TESTS,
    protects: 'watches that would never end: the event that ends them is over',
  },
  {
    name: 'handshakes begin without a turn',
    file: `${HTTP}/https-server.ts`,
    text: 'for (const listener of handshake) if (!socket.destroyed) listener.call(server, socket);\n      });',
    replacement: '});\n      for (const listener of handshake) if (!socket.destroyed) listener.call(server, socket);',
    tests: SERVER_TESTS,
    protects: 'the event loop of an API server, from a crowd of handshakes: 900 took 416 ms',
  },
  {
    name: 'bodies are decoded without a turn',
    file: `${HTTP}/read-body.ts`,
    text: 'await turnOf(starts, user);\n      return bytes;',
    replacement: 'return bytes;',
    tests: [`${HTTP}/read-body.test.ts`],
    protects: 'the event loop of an API server, from many bodies that end at once',
  },
  {
    name: 'large bodies take their steps together',
    file: `${HTTP}/read-body.ts`,
    text: 'await nextRound();\n      await turnOf(starts, user);',
    replacement: 'await nextRound();',
    tests: [`${HTTP}/read-body.test.ts`],
    protects: 'the event loop of an API server, from many large bodies at a time',
  },
  {
    name: 'a large body is decoded in one turn',
    file: 'services/apiserver/src/registry/objects/decode-body.ts',
    text: 'if (bytes.length > LARGE_BODY) await nextTurn();\n  const',
    replacement: 'const',
    tests: ['services/apiserver/src/registry/objects/decode-body.test.ts'],
    protects: 'the event loop of an API server, from a definition of 20,000 schemas',
  },
  {
    name: 'many short turns of an idle loop are one long turn',
    file: WATCH,
    text: 'const stallMs = isSpread ? Math.min(busyMs, Math.max(0, lateMs) + BUSY_BEAT_MS) : busyMs;',
    replacement: 'const stallMs = busyMs;',
    tests: WATCH_TESTS,
    protects: 'the metrics of stalls, from windows of 250 ms that are no turns',
  },
  {
    name: 'a few turns of an idle loop are no long one',
    file: WATCH,
    text: 'const stallMs = isSpread ? Math.min(busyMs, Math.max(0, lateMs) + BUSY_BEAT_MS) : busyMs;',
    replacement: 'const stallMs = Math.min(busyMs, Math.max(0, lateMs) + BUSY_BEAT_MS);',
    tests: WATCH_TESTS,
    protects: 'the metrics of stalls, which show one that comes after rest',
  },
  {
    name: 'a busy loop counts as idle after one quiet beat',
    file: WATCH,
    text: 'else if (this.#quietBeats >= QUIET_BEATS) this.nextBeatMs = IDLE_BEAT_MS;',
    replacement: 'else this.nextBeatMs = IDLE_BEAT_MS;',
    tests: WATCH_TESTS,
    protects: 'the metrics of stalls, which would not see turns between the short rests of a crowd',
  },
  {
    name: 'a client that sends nothing keeps its connection',
    file: `${CONNECTIONS}/when-greeted.ts`,
    text: 'socket.setTimeout(limitMs, refuse);',
    replacement: 'void limitMs;',
    tests: [`${CONNECTIONS}/when-greeted.test.ts`],
    protects: 'the connections that a server may have',
  },
];
