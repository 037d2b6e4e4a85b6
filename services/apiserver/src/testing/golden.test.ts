import { readFileSync } from 'node:fs';
import https from 'node:https';
import { resources } from '@gantry/kinds';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { callServer } from './call-server.ts';
import { runStandInControllers } from './stand-in-controllers.ts';
import { startApiServer, type TestApiServer } from './start-api-server.ts';

/**
 * Replays all goldens, except those with controllers, against a complete API server in this process. The steps with different responses
 * must be exactly those that docs/golden-differences.md counts.
 */
interface Scenario {
  readonly id: string;
  readonly steps: readonly { readonly want?: object }[];
}

interface Watch {
  readonly events: unknown[];
  readonly code: number;
  ended: boolean;
  stop(): void;
}

interface Call {
  (
    method: string,
    path: string,
    options?: { headers?: Record<string, string>; body?: string },
  ): Promise<{ code: number; headers: unknown; text: string }>;
  watch(path: string, headers?: Record<string, string>): Promise<Watch>;
}

interface Golden {
  differences(want: object, got: object): string[];
  pool<T>(items: readonly T[], jobs: number, each: (item: T) => Promise<void>): Promise<void>;
  runScenario(
    call: Call,
    scenario: Scenario,
    each: (step: { want?: object }, index: number, answer: object, setup?: boolean) => Promise<void>,
  ): Promise<void>;
}

const ROOT = new URL('../../../../', import.meta.url);
const FOLDER = new URL('integration-tests/golden/', ROOT);
const CORPORA = ['create', 'update', 'patch', 'apply', 'object', 'request', 'crd', 'watch', 'discovery'];
const JOBS = 4;
const HINT =
  'answers differ from the recorded ones; a deliberate difference is a row of docs/golden-differences.md, that of a whole kind a line of normalise in integration-tests/golden/lib.mjs';

const stopping = new AbortController();
let server: TestApiServer;
let golden: Golden;
let controllers: Promise<void>;

beforeAll(async () => {
  golden = (await import(new URL('lib.mjs', FOLDER).href)) as Golden;
  // Without Gantry's own kinds, so that they do not count as differences.
  server = await startApiServer({
    resources: resources.filter(({ publishedSchema }) => publishedSchema === undefined),
  });
  controllers = runStandInControllers(server.registry, server.pki.ca, stopping.signal).catch((error: unknown) => {
    if (!stopping.signal.aborted) throw error;
  });
});

afterAll(async () => {
  stopping.abort();
  await controllers;
  await server.stop();
});

function clientOf(agent: https.Agent): Call {
  const call = async (
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
    const sent = { accept: 'application/json', ...type, ...headers };
    const reply = await callServer(server, method, path, {
      agent,
      headers: sent,
      ...(body === undefined ? {} : { body }),
    });
    return { code: reply.code, headers: reply.headers, text: reply.bytes.toString() };
  };
  return Object.assign(call, { watch: openWatch });
}

/** Opens a watch. Resolves when the response starts. Events are collected until the watch is stopped. */
function openWatch(path: string, headers: Record<string, string> = {}): Promise<Watch> {
  const { admin, restPort: port } = server;
  const identity = { ca: server.pki.ca, cert: admin.cert, key: admin.key };
  const options = { host: '127.0.0.1', port, path, agent: false, ...identity } as const;
  return new Promise((resolve, reject) => {
    const request = https.request({ ...options, headers: { accept: 'application/json', ...headers } }, (response) => {
      const watch: Watch = { events: [], code: response.statusCode ?? 0, ended: false, stop: () => request.destroy() };
      let rest = '';
      response.on('data', (data: Buffer) => {
        const lines = `${rest}${data.toString()}`.split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') watch.events.push(JSON.parse(line));
      });
      const end = () => {
        watch.ended = true;
      };
      response.on('end', end).on('error', end);
      resolve(watch);
    });
    request.on('error', reject);
    request.end();
  });
}

/** The number of different steps per golden, from the page. */
function listed(): Record<string, number> {
  const page = readFileSync(new URL('docs/golden-differences.md', ROOT), 'utf8');
  const rows = [...page.matchAll(/^\| ([a-z]+\/[^ |]+) \| (\d+) \|/gm)];
  return Object.fromEntries(rows.map(([, id = '', count]) => [id, Number(count)]));
}

it('answers what Kubernetes answered, but for what is listed', { timeout: 600_000 }, async () => {
  const scenarios = CORPORA.flatMap((name) =>
    readFileSync(new URL(`${name}.jsonl`, FOLDER), 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Scenario),
  );
  const agent = new https.Agent({ keepAlive: true, maxSockets: 4 * JOBS });
  const call = clientOf(agent);
  const counts = new Map<string, number>();
  const told: string[] = [];
  let compared = 0;
  await golden.pool(scenarios, JOBS, async (scenario) => {
    const note = (what: string) => {
      counts.set(scenario.id, (counts.get(scenario.id) ?? 0) + 1);
      told.push(`${scenario.id}: ${what}`);
    };
    await golden.runScenario(call, scenario, (step, _index, answer, setup) => {
      if (setup === true) note(`setup: ${JSON.stringify(answer).slice(0, 300)}`);
      else if (step.want !== undefined) {
        compared++;
        const found = golden.differences(step.want, answer);
        if (found.length > 0) note(found.join('; '));
      }
      return Promise.resolve();
    });
  });
  agent.destroy();
  expect(compared).toBeGreaterThan(7000);
  const expected = listed();
  const surprises = told.filter(
    (text) => counts.get(text.split(': ')[0] ?? '') !== expected[text.split(': ')[0] ?? ''],
  );
  expect(surprises, HINT).toEqual([]);
  expect(Object.fromEntries([...counts].sort())).toEqual(Object.fromEntries(Object.entries(expected).sort()));
});
