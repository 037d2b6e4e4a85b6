import { readFileSync } from 'node:fs';
import { LuaFactory } from 'wasmoon';
import { expect, test } from 'vitest';

const read = (name: string) => readFileSync(new URL(`../../load-balancer/${name}`, import.meta.url), 'utf8');
const SUSPECTS = read('suspects.lua');

const LOOK_MS = 200;
/** Of haproxy.cfg. */
const BETWEEN_MS = { good: 3000, failed: 300, down: 500 };
const ANSWER_WITHIN_MS = 3000;
const FALL = 4;
/** How long a case goes on. */
const TRIED_MS = 40_000;

/** What HAProxy offers to the file, and a step of its task. */
const HAPROXY = `
  local task, servers = nil, {}
  core = { backends = { apiservers = { servers = servers } }, Warning = function() end, msleep = coroutine.yield }
  core.register_task = function(start) task = coroutine.create(start) end
  function add_server(name)
    local server = { stats = {}, drains = false, ended = 0 }
    function server:get_stats() return self.stats end
    function server:is_draining() return self.drains end
    function server:set_drain() self.drains = true end
    function server:set_ready() self.drains = false end
    function server:shut_sess() self.ended = self.ended + 1 end
    servers[name] = server
  end
  function set_stats(name, health, status, bytes)
    servers[name].stats = { check_rise = "1", check_fall = "${FALL}", check_health = health, check_status = status, bout = bytes, scur = "4" }
  end
  function look()
    local is_right, why = coroutine.resume(task)
    if not is_right then error(why) end
  end
  function ended(name) return servers[name].ended end
  function drains(name) return servers[name].drains end
`;

interface Behaviour {
  /** When a check that begins then is answered; Infinity for never. */
  readonly answerAt: (askedAt: number) => number;
  /** Of an answer; `L7OK` if absent. */
  readonly status?: string;
  /** How many bytes it has sent to clients; none if absent. */
  readonly bytesAt?: (at: number) => number;
}

/** HAProxy's checks of a server. The first one begins at `next`. */
class Checks {
  #next: number;
  readonly #server: Behaviour;
  #beganAt: number | undefined;
  #health = FALL;
  #status = 'L7OK';

  constructor(next: number, server: Behaviour) {
    this.#next = next;
    this.#server = server;
  }

  /** Its statistics then: health, status and bytes. */
  look(at: number): readonly [string, string, string] {
    if (this.#beganAt === undefined && at >= this.#next) this.#beganAt = this.#next;
    if (this.#beganAt !== undefined) this.#end(this.#beganAt, at);
    const status = `${this.#beganAt === undefined ? '' : '* '}${this.#status}`;
    return [String(this.#health), status, String(this.#server.bytesAt?.(at) ?? 0)];
  }

  #end(beganAt: number, at: number): void {
    const endedAt = Math.min(this.#server.answerAt(beganAt), beganAt + ANSWER_WITHIN_MS);
    if (at < endedAt) return;
    const isAnswered = endedAt < beganAt + ANSWER_WITHIN_MS;
    this.#status = isAnswered ? (this.#server.status ?? 'L7OK') : 'L6TOUT';
    const isGood = this.#status === 'L7OK';
    this.#health = isGood ? FALL : Math.max(0, this.#health - 1);
    this.#beganAt = undefined;
    this.#next = endedAt + BETWEEN_MS[isGood ? 'good' : this.#health === 0 ? 'down' : 'failed'];
  }
}

const GOOD: Behaviour = { answerAt: (at) => at + 20 };

/** Hangs from `from` to `to`, and answers at once otherwise. */
const hangs = (from: number, to = Infinity): Behaviour => ({
  answerAt: (at) => (at < from || at >= to ? at + 20 : to + 20),
});

/** When connections of each server first end, in milliseconds; Infinity if they do not. `firstCheckAt` is that of the first server. */
async function endsOf(servers: readonly Behaviour[], { firstCheckAt = 0 } = {}) {
  using lua = await balancer(servers.length);
  const checks = servers.map((server, index) => new Checks(index === 0 ? firstCheckAt : 0, server));
  const ends = servers.map(() => Infinity);
  for (let at = 0; at < TRIED_MS; at += LOOK_MS) {
    lua.look(checks.map((one) => one.look(at)));
    for (const index of servers.keys()) {
      if (lua.ended(index) > 0) ends[index] = Math.min(ends[index] ?? Infinity, at);
    }
  }
  return ends;
}

async function balancer(count: number) {
  const lua = await new LuaFactory().createEngine();
  await lua.doString(HAPROXY);
  const call = (name: string, ...args: readonly unknown[]): unknown => lua.global.call(name, ...args)[0];
  const nameOf = (index: number) => `apiserver${index + 1}`;
  for (let index = 0; index < count; index++) call('add_server', nameOf(index));
  await lua.doString(SUSPECTS);
  return {
    look: (stats: readonly (readonly [string, string, string])[]) => {
      for (const [index, one] of stats.entries()) call('set_stats', nameOf(index), ...one);
      call('look');
    },
    ended: (index: number) => call('ended', nameOf(index)) as number,
    drains: (index: number) => call('drains', nameOf(index)) as boolean,
    [Symbol.dispose]: () => lua.global.close(),
  };
}

test('the simulated checks are those of haproxy.cfg', () => {
  const config = read('haproxy.cfg');
  expect(config).toContain(
    `inter ${BETWEEN_MS.good / 1000}s fastinter ${BETWEEN_MS.failed}ms downinter ${BETWEEN_MS.down}ms`,
  );
  expect(config).toContain(` fall ${FALL} `);
  expect(config).toContain(`timeout connect ${ANSWER_WITHIN_MS / 1000}s`);
  expect(SUSPECTS).toContain(`local LOOK_EVERY_MS = ${LOOK_MS}\n`);
});

test.each([0, 500, 1000, 1500, 2000, 2500, 3000])(
  'connections of a server that is paused %d ms before its next check end 5.8 to 9 s later',
  async (firstCheckAt) => {
    const [paused = 0, good] = await endsOf([hangs(0), GOOD], { firstCheckAt });
    expect(paused).toBeGreaterThanOrEqual(5800);
    expect(paused).toBeLessThanOrEqual(9000);
    expect(good).toBe(Infinity);
  },
);

test('a server that hangs for 5.5 s keeps its connections', async () => {
  expect(await endsOf([hangs(0, 5500), GOOD])).toEqual([Infinity, Infinity]);
});

test('a server whose checks are answered within their limit keeps its connections, however slow it is', async () => {
  expect(await endsOf([{ answerAt: (at) => at + 2800 }, GOOD])).toEqual([Infinity, Infinity]);
});

test('a server that sends bytes keeps its connections without an answer to its checks', async () => {
  const sends: Behaviour = { ...hangs(0), bytesAt: (at) => Math.floor(at / 4000) };
  expect(await endsOf([sends, GOOD])).toEqual([Infinity, Infinity]);
});

test('a server that is not ready keeps its idle connections', async () => {
  expect(await endsOf([{ ...GOOD, status: 'L7STS' }, GOOD])).toEqual([Infinity, Infinity]);
});

test('a server without a good other one keeps its connections', async () => {
  expect(await endsOf([hangs(0)])).toEqual([Infinity]);
  expect(await endsOf([hangs(0), hangs(0)])).toEqual([Infinity, Infinity]);
});

test.each([0, 500, 1000, 1500, 2000, 2500, 3000])(
  'of servers that hang together, the second one may go on 4 s after the first one: next check after %d ms',
  async (firstCheckAt) => {
    const servers = [hangs(100, 24_000), hangs(100, 20_000)];
    expect(await endsOf(servers, { firstCheckAt })).toEqual([Infinity, Infinity]);
  },
);

test('of servers that hang together, the one that stays silent loses its connections 5 s after the other one goes on', async () => {
  const [silent] = await endsOf([hangs(100), hangs(100, 30_000)]);
  expect(silent).toBeGreaterThanOrEqual(34_800);
  expect(silent).toBeLessThanOrEqual(35_800);
});

test('new connections of a hung server stay when the other one hangs too', async () => {
  using lua = await balancer(2);
  const checks = [new Checks(0, hangs(0)), new Checks(0, hangs(10_000))];
  let before = Infinity;
  for (let at = 0; at < 30_000; at += LOOK_MS) {
    lua.look(checks.map((one) => one.look(at)));
    if (at === 14_000) before = lua.ended(0);
  }
  expect([lua.ended(0), lua.ended(1)]).toEqual([before, 0]);
});

test('connections of a paused server end beside one whose checks are always late', async () => {
  const [paused, late] = await endsOf([hangs(0), { answerAt: (at) => at + 1700 }]);
  expect(paused).toBeLessThan(16_000);
  expect(late).toBe(Infinity);
});

test('a server gets no new connections from the second second of a check on, until it answers', async () => {
  using lua = await balancer(2);
  const checks = [new Checks(0, hangs(0, 2000)), new Checks(0, GOOD)];
  const drained: number[] = [];
  for (let at = 0; at < 6000; at += LOOK_MS) {
    lua.look(checks.map((one) => one.look(at)));
    if (lua.drains(0)) drained.push(at);
    expect(lua.drains(1)).toBe(false);
  }
  expect([drained[0], drained.at(-1)]).toEqual([1000, 2000]);
});
