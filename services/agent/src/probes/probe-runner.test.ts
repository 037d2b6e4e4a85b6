import { type Clock, sleep } from '@gantry/base';
import { ManualClock } from '@gantry/base/testing';
import { createServer, type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { Slots } from '../pods/slots.ts';
import { container } from '../testing/pods.ts';
import { runningContainer } from '../testing/running-container.ts';
import type { CommandLimits } from './pod-commands.ts';
import { ProbeRunner } from './probe-runner.ts';
import type { ProbeFailure } from './probe-types/probe-type.ts';
import { TimerWheel } from './timer-wheel.ts';

const OWNER = { cluster: 'c', node: 'n' };
const { signal } = new AbortController();

/** A bound that is not given is large. */
const limits = (clock: Clock, { begins = 100, node = 100, pod = 100 }): CommandLimits => ({
  begins: new Slots(begins, { clock, maxHeldMs: 1_000 }),
  node: new Slots(node, { clock, maxHeldMs: 30_000 }),
  ofPod: () => new Slots(pod),
});

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
    commands: limits(clock, {}),
    containers: runtime.containers,
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onOutcome: () => undefined,
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
  const seconds = new Set<number>();
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    commands: limits(clock, { begins: 2 }),
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
    onOutcome: (_name, _kind, outcome) => void seconds.add(outcome.seconds),
    onFailure: (_name, _kind, { message }) => expect.fail(message),
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
  expect([...seconds]).toEqual([0.8]);
  // Two run at a time, for 800 ms each. The due ones wait, and nothing accumulates.
  expect(count).toBeGreaterThan(40);
  expect(count).toBeLessThanOrEqual(52);
  runner.stop();
});

it('a command that does not end holds up those of no other container', async () => {
  const clock = new ManualClock();
  const ran: string[] = [];
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    commands: limits(clock, { begins: 1 }),
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
    onOutcome: () => undefined,
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

/** Starts pods on one node whose commands take time. Counts how many commands run. */
function nodeOfPods(bounds: Parameters<typeof limits>[1], takesMs: (pod: string) => number) {
  const clock = new ManualClock();
  const commands = limits(clock, bounds);
  const ran = new Map<string, number>();
  const running = new Map<string, number>();
  const most = new Map<string, number>();
  const count = (key: string, change: number) => {
    running.set(key, (running.get(key) ?? 0) + change);
    most.set(key, Math.max(most.get(key) ?? 0, running.get(key) ?? 0));
  };
  const timers = new TimerWheel(clock);
  const start = (pod: string, containers: number) => {
    const runner = new ProbeRunner({
      timers,
      commands,
      containers: {
        exec: async (_id, _command, abort) => {
          ran.set(pod, (ran.get(pod) ?? 0) + 1);
          for (const key of [pod, 'all']) count(key, 1);
          await sleep(clock, takesMs(pod), abort).finally(() => {
            for (const key of [pod, 'all']) count(key, -1);
          });
          return { exitCode: 0, output: '' };
        },
      },
      clock,
      random: () => 0,
      onFindings: () => undefined,
      onOutcome: () => undefined,
      onFailure: (_name, _kind, { message }) => expect.fail(message),
      onWarning: () => undefined,
    });
    const targets = Array.from({ length: containers }, (_, i) => ({
      container: container(`c${i}`, {
        readinessProbe: { exec: { command: ['x'] }, periodSeconds: 2, timeoutSeconds: 3_600 },
      }),
      containerId: `${pod}-${i}`,
      address: '',
      network: 'pod' as const,
      startedAt: clock.now(),
    }));
    runner.sync(targets, 'running', signal);
    return runner;
  };
  return { clock, ran, most, start };
}

it('where each command takes long, no more than the bound of the node run, and each pod has its turn', async () => {
  const { clock, ran, most, start } = nodeOfPods({ begins: 4, node: 6, pod: 2 }, () => 5_000);
  const pods = Array.from({ length: 12 }, (_, i) => `pod-${i}`);
  const runners = pods.map((pod) => start(pod, 3));
  await clock.advance(120_000);
  expect(most.get('all')).toBe(6);
  expect(pods.filter((pod) => (most.get(pod) ?? 0) > 2)).toEqual([]);
  // Six run at a time, for five seconds each.
  expect(pods.filter((pod) => (ran.get(pod) ?? 0) < 6)).toEqual([]);
  for (const runner of runners) runner.stop();
});

it('a pod whose commands do not end takes no more than its bound, and no time of other pods', async () => {
  const { clock, ran, most, start } = nodeOfPods({ begins: 1, node: 3, pod: 2 }, (pod) =>
    pod === 'endless' ? 3_600_000 : 100,
  );
  const runners = [start('endless', 5), start('other', 1)];
  await clock.advance(21_000);
  expect([ran.get('endless'), most.get('endless')]).toEqual([2, 2]);
  // The command runs every two seconds, except for the turns of the endless ones at the start.
  expect(ran.get('other')).toBeGreaterThanOrEqual(9);
  for (const runner of runners) runner.stop();
});

it('pods whose commands do not end give their places on the node to others', async () => {
  const isEndless = (pod: string) => pod.startsWith('endless');
  const { clock, ran, most, start } = nodeOfPods({ begins: 4, node: 4, pod: 2 }, (pod) =>
    isEndless(pod) ? 3_600_000 : 100,
  );
  const endless = ['endless-0', 'endless-1'].map((pod) => start(pod, 5));
  await clock.advance(10_000);
  expect(most.get('all')).toBe(4);
  const other = start('other', 1);
  await clock.advance(60_000);
  expect(ran.get('other')).toBeGreaterThanOrEqual(15);
  expect([ran.get('endless-0'), ran.get('endless-1')]).toEqual([2, 2]);
  for (const runner of [...endless, other]) runner.stop();
});

it('a container is not probed on after the probe that ends it', async () => {
  const clock = new ManualClock();
  let count = 0;
  const failures: string[] = [];
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    commands: limits(clock, { begins: 1 }),
    containers: {
      exec: async () => {
        count += 1;
        return { exitCode: 1, output: 'no' };
      },
    },
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onOutcome: () => undefined,
    onFailure: (_name, _kind, { message }) => void failures.push(message),
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
    commands: limits(clock, { begins: 1 }),
    containers: { exec: async () => ({ exitCode: 0, output: '' }) },
    clock,
    random: () => 0,
    onFindings: (name) => {
      if (name === 'broken') throw new Error('no such pod');
    },
    onOutcome: () => undefined,
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

it('a probe that ends with an error instead of a result is tried three times at once', async () => {
  let requests = 0;
  const server = createServer((socket) => {
    requests++;
    socket.on('error', () => socket.destroy());
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const clock = new ManualClock();
  const failed = Promise.withResolvers<ProbeFailure>();
  const runner = new ProbeRunner({
    timers: new TimerWheel(clock),
    commands: limits(clock, {}),
    containers: { exec: () => Promise.reject(new RangeError('no command')) },
    clock,
    random: () => 0,
    onFindings: () => undefined,
    onOutcome: () => undefined,
    onFailure: (_name, _kind, failure) => failed.resolve(failure),
    onWarning: () => undefined,
  });
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const { port } = server.address() as AddressInfo;
  const target = {
    container: container('main', { readinessProbe: { httpGet: { port } } }),
    containerId: 'id',
    address: '127.0.0.1',
    network: 'pod' as const,
    startedAt: clock.now(),
  };
  runner.sync([target], 'running', stop.signal);
  await clock.advance(1_000);
  expect(await failed.promise).toMatchObject({ kind: 'failure', message: 'unexpected EOF', cause: 'error' });
  expect(requests).toBe(3);
});
