import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { seededRandom } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import type { ObjectWrite } from '@gantry/client';
import { FakeObjectClient } from '@gantry/client/testing';
import { CONFIG_MAPS, type KubeObject, StatusError } from '@gantry/objects';
import { expect, onTestFinished, test } from 'vitest';
import { RunFolder } from '../recording/run-folder.ts';
import { REQUEST_WORKLOAD } from './requests.ts';
import { Tally } from './tally.ts';
import { untilRight } from './until-right.ts';

const NEVER = new AbortController().signal;

type Send = (write: ObjectWrite) => Promise<KubeObject>;

/** An API server between whose store and clients a test stands. */
class Between extends FakeObjectClient {
  readonly #answer: (write: ObjectWrite, send: Send) => Promise<KubeObject>;

  constructor(clock: ManualClock, answer: (write: ObjectWrite, send: Send) => Promise<KubeObject>) {
    super(clock);
    this.#answer = answer;
  }

  override async write(write: ObjectWrite, signal: AbortSignal): Promise<KubeObject> {
    return await this.#answer(write, async (sent) => await super.write(sent, signal));
  }

  async raw(): Promise<string> {
    return await Promise.reject(new Error('nothing is sent raw'));
  }

  [Symbol.dispose](): void {}
}

/** Runs the workload for 40 seconds at four requests a second, which are of two clients. */
async function run(answer: (write: ObjectWrite, send: Send) => Promise<KubeObject>) {
  const clock = new ManualClock();
  const path = mkdtempSync(join(tmpdir(), 'chaos-requests-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  const api = new Between(clock, answer);
  const stop = new AbortController();
  const tally = new Tally();
  let wrong: readonly string[];
  {
    await using folder = new RunFolder(path, clock);
    const running = await REQUEST_WORKLOAD.start(
      {
        ...{
          connect: () => api,
          kubeconfig: '',
          namespace: 'chaos',
          serviceImage: 'image',
          folder,
          tally,
          clock,
          rate: 4,
        },
        random: seededRandom(3),
        untilRight: async (look) => await untilRight(clock, look, { limitMs: 20_000 }),
        create: async () => await Promise.reject(new Error('nothing is created before')),
        isLost: () => false,
        interrupted: NEVER,
        over: NEVER,
      },
      stop.signal,
    );
    await clock.advance(39_990);
    stop.abort();
    const finished = running.finish();
    await clock.advance(60_000);
    wrong = await finished;
  }
  const lines = ['requests-0', 'requests-1'].flatMap((name) =>
    readFileSync(join(path, 'clients', `${name}.jsonl`), 'utf8')
      .trimEnd()
      .split('\n'),
  );
  return { wrong, left: api.all(CONFIG_MAPS).length, tally, lines };
}

/** Every third write has no response. */
function losingResponses(moment: 'before' | 'after') {
  let turn = 0;
  return async (write: ObjectWrite, send: Send) => {
    const isLost = ++turn % 3 === 0;
    if (isLost && moment === 'before') throw StatusError.timeout('no response');
    const object = await send(write);
    if (isLost) throw StatusError.timeout('no response');
    return object;
  };
}

test('requests are due at the rate, and leave nothing', async () => {
  const { wrong, left, tally, lines } = await run(async (write, send) => await send(write));
  expect({ wrong, left, refused: tally.refused, unknown: tally.unknown }).toEqual({
    wrong: [],
    left: 0,
    refused: 0,
    unknown: 0,
  });
  const due = lines.filter((line) => line.includes('"dueMs"'));
  expect(due).toHaveLength(160);
  const verbs = new Set(due.map((line) => /"verb":"(\w+)"/.exec(line)?.[1]));
  expect([...verbs].toSorted()).toEqual(['create', 'delete', 'get', 'list', 'patch', 'update']);
});

test.each(['before', 'after'] as const)('a write whose response is lost %s it is done is repeated', async (moment) => {
  const { wrong, left, tally, lines } = await run(losingResponses(moment));
  expect({ wrong, left }).toEqual({ wrong: [], left: 0 });
  expect(tally.unknown).toBeGreaterThan(10);
  expect(lines.filter((line) => line.includes('"repeats"')).length).toBeGreaterThanOrEqual(tally.unknown);
  const written = lines
    .filter((line) => line.includes('"invoke"'))
    .flatMap((line) => /"value":"[^"]*"/.exec(line) ?? []);
  expect(new Set(written).size, 'the values of all attempts differ').toBe(written.length);
});

test.each(['has no response', 'is refused, too'])(
  'nothing is wrong when a write %s and all its repetitions are refused for the load',
  async (first) => {
    const attempts = new Map<string, number>();
    const { wrong, left, tally } = await run(async (write, send) => {
      const { name = '' } = 'object' in write ? write.object.metadata : write.key;
      if (!/-[23]$/.test(name)) return await send(write);
      const attempt = (attempts.get(name) ?? 0) + 1;
      attempts.set(name, attempt);
      if (attempt === 1 && first === 'has no response') throw StatusError.timeout('no response');
      throw new StatusError('TooManyRequests', 'the server is busy');
    });
    expect({ wrong, left }).toEqual({ wrong: [], left: 0 });
    expect(Math.max(...attempts.values())).toBe(11);
    expect(tally.unknown > 0).toBe(first === 'has no response');
  },
);

test('an acknowledged write that is lost is found', async () => {
  let turn = 0;
  const { wrong } = await run(async (write, send) => {
    if (write.verb !== 'update' || ++turn % 5 !== 0) return await send(write);
    return write.object;
  });
  expect(wrong.length).toBeGreaterThan(0);
  expect(wrong[0]).toMatch(
    /^requests-\d-\d+ is (read as )?\d+@requests-\d after \d+@requests-\d was (written|acknowledged)$/,
  );
});
