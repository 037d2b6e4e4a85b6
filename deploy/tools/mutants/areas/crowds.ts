import type { Mutant } from '../mutant.ts';

const HTTP = 'services/apiserver/src/http';
const STARTS = 'packages/base/src/starts.ts';
const SERVER_TESTS = [`${HTTP}/begin-in-turns.test.ts`];
const CONNECTIONS = 'packages/service/src/connections';

/** What many clients at once can do to the event loop of a server. */
export const CROWD_MUTANTS: readonly Mutant[] = [
  {
    name: 'a crowd of requests begins in one round of the event loop',
    file: STARTS,
    text: `    if (this.#waiting.length === 0 && this.#hasTime()) {
      begin();`,
    replacement: `    if (this.#waiting.length >= 0) {
      begin();`,
    tests: ['packages/base/src/starts.test.ts', ...SERVER_TESTS],
    protects: 'all clients of an API server, from a stall as long as the requests of a crowd together',
  },
  {
    name: 'what comes later begins before what waits',
    file: STARTS,
    text: 'if (this.#waiting.length === 0 && this.#hasTime()) return undefined;',
    replacement: 'if (this.#hasTime()) return undefined;',
    tests: ['packages/base/src/starts.test.ts'],
    protects: 'requests of a crowd, which would wait for ever behind new ones',
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
    text: 'await starts.next();\n      return bytes;',
    replacement: 'return bytes;',
    tests: [`${HTTP}/read-body.test.ts`],
    protects: 'the event loop of an API server, from many bodies that end at once',
  },
  {
    name: 'large bodies take their steps together',
    file: `${HTTP}/read-body.ts`,
    text: 'await nextRound();\n      await starts.next();',
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
    name: 'a client that sends nothing keeps its connection',
    file: `${CONNECTIONS}/when-greeted.ts`,
    text: 'socket.setTimeout(limitMs, refuse);',
    replacement: 'void limitMs;',
    tests: [`${CONNECTIONS}/when-greeted.test.ts`],
    protects: 'the connections that a server may have',
  },
];
