import { sleep } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { expect, it } from 'vitest';
import { container } from '../testing/pods.ts';
import { runningContainer } from '../testing/running-container.ts';
import { ProbeRunner } from './probe-runner.ts';
import { TimerWheel } from './timer-wheel.ts';

const OWNER = { cluster: 'c', node: 'n' };
const { signal } = new AbortController();

/** As many at once as it is given. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async use<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free === 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#free -= 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

it('in an ending pod only readiness is probed on', async () => {
  const clock = new ManualClock();
  let ran: string[] = [];
  const exec = (_spec: unknown, [kind = '']: readonly string[]) => {
    ran.push(kind);
    return { exitCode: 0, output: '' };
  };
  const probe = (kind: string) => ({ exec: { command: [kind] }, periodSeconds: 5 });
  const probed = container('main', { livenessProbe: probe('liveness'), readinessProbe: probe('readiness') });
  const { runtime, containerId } = await runningContainer(OWNER, { clock, behaviour: { exec } }, probed);

  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    execs: { use: (work) => work() },
    containers: runtime.containers,
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onFailure: () => undefined,
    onWarning: () => undefined,
  });
  const target = {
    container: probed,
    containerId,
    address: '10.0.0.9',
    network: 'pod' as const,
    startedAt: clock.now(),
  };
  runner.sync([target], 'running', signal);
  await clock.advance(6_000);
  expect(ran.sort()).toEqual(['liveness', 'liveness', 'readiness', 'readiness']);

  ran = [];
  runner.sync([target], 'ending', signal);
  await clock.advance(10_000);
  expect(ran).toEqual(['readiness', 'readiness']);

  ran = [];
  runner.sync([], 'ending', signal);
  await clock.advance(10_000);
  expect(ran).toEqual([]);
});

it('commands run a few at a time, and a command that waits for its turn has its whole timeout left', async () => {
  const clock = new ManualClock();
  let now = 0;
  let most = 0;
  let count = 0;
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    execs: new Turns(2),
    containers: {
      exec: async (_id, _command, abort) => {
        count += 1;
        most = Math.max(most, (now += 1));
        await sleep(clock, 800, abort).finally(() => (now -= 1));
        return { exitCode: 0, output: '' };
      },
    },
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onFailure: (_name, _kind, message) => expect.fail(message),
    onWarning: () => undefined,
  });
  const targets = Array.from({ length: 10 }, (_, i) => ({
    container: container(`c${i}`, {
      livenessProbe: { exec: { command: ['true'] }, periodSeconds: 2, timeoutSeconds: 1 },
    }),
    containerId: `c${i}`,
    address: '10.0.0.9',
    network: 'pod' as const,
    startedAt: clock.now(),
  }));
  runner.sync(targets, 'running', signal);
  await clock.advance(20_000);
  expect(most).toBe(2);
  // Two at a time, 800 ms each: what is due waits, and nothing piles up.
  expect(count).toBeGreaterThan(40);
  expect(count).toBeLessThanOrEqual(52);
  runner.stop();
});

it('a command that does not end holds up those of no other container', async () => {
  const clock = new ManualClock();
  const ran: string[] = [];
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    execs: new Turns(1),
    containers: {
      exec: async (id, _command, abort) => {
        ran.push(id);
        if (id === 'endless') await sleep(clock, 3_600_000, abort);
        return { exitCode: 0, output: '' };
      },
    },
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onFailure: () => undefined,
    onWarning: () => undefined,
  });
  const probe = { exec: { command: ['x'] }, periodSeconds: 5, timeoutSeconds: 3_600 };
  const targets = ['endless', 'other'].map((name) => ({
    container: container(name, { readinessProbe: probe }),
    containerId: name,
    address: '',
    network: 'pod' as const,
    startedAt: clock.now(),
  }));
  runner.sync(targets, 'running', signal);
  await clock.advance(12_000);
  expect(ran).toEqual(['endless', 'other', 'other', 'other']);
  runner.stop();
});

it('a container is not probed on after the probe that ends it', async () => {
  const clock = new ManualClock();
  let count = 0;
  const failures: string[] = [];
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    execs: new Turns(1),
    containers: {
      exec: async () => {
        count += 1;
        return { exitCode: 1, output: 'no' };
      },
    },
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onFailure: (_name, _kind, message) => void failures.push(message),
    onWarning: () => undefined,
  });
  const probed = container('main', {
    livenessProbe: { exec: { command: ['x'] }, periodSeconds: 1, failureThreshold: 2 },
  });
  const target = { container: probed, containerId: 'id', address: '', network: 'pod' as const, startedAt: clock.now() };
  runner.sync([target], 'running', signal);
  await clock.advance(10_000);
  expect([count, failures]).toEqual([2, ['no', 'no']]);
});

it('a probe that ends by a defect is reported; one that is stopped is not', async () => {
  const clock = new ManualClock();
  const warnings: string[] = [];
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    execs: new Turns(1),
    containers: { exec: async () => ({ exitCode: 0, output: '' }) },
    clock,
    random: () => 0,
    onFindings: (name) => {
      if (name === 'broken') throw new Error('no such pod');
    },
    onFailure: () => undefined,
    onWarning: (name, kind, message) => void warnings.push(`${name} ${kind}: ${message}`),
  });
  const probe = { exec: { command: ['x'] }, periodSeconds: 1 };
  const targets = ['broken', 'sound'].map((name) => ({
    container: container(name, { readinessProbe: probe }),
    containerId: name,
    address: '',
    network: 'pod' as const,
    startedAt: clock.now(),
  }));
  runner.sync(targets, 'running', signal);
  await clock.advance(3_000);
  runner.stop();
  await clock.advance(3_000);
  expect(warnings).toEqual(['broken readiness: the probe has ended: no such pod']);
});
