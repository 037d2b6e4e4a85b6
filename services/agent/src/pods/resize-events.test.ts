import type { Container, Pod } from '@gantry/objects';
import { expect, it } from 'vitest';
import type { PodMemory } from '../plan/pod-memory.ts';
import { resourceLimits } from '../spec/resources.ts';
import { container, NOW, pod, podState, reportedStatus, running, sandbox } from '../testing/pods.ts';
import { ResizeEvents } from './resize-events.ts';

const cpu = (amount: string): Container =>
  container('main', { resources: { requests: { memory: '1Mi', cpu: amount } } });
/** A pod whose container asks for `asked` and has been granted `granted`. */
const resizing = (asked: string, granted: string, generation: number): Pod =>
  pod(
    { containers: [cpu(asked)] },
    { containerStatuses: [reportedStatus({ allocatedResources: { memory: '1Mi', cpu: granted } })] },
    { generation },
  );
const runs = (amount: string) => podState([sandbox()], [running({ resources: resourceLimits(pod(), cpu(amount)) })]);
const fits: Pick<PodMemory, 'resize' | 'updates'> = { resize: { kind: 'fits' }, updates: new Map() };
const deferred = (message: string) => ({ ...fits, resize: { kind: 'deferred' as const, reason: 'OutOfcpu', message } });
const summary = (amount: string, generation: number, error = '') =>
  `{"containers":[{"name":"main","resources":{"requests":{"cpu":"${amount}","memory":"1Mi"}}}],"generation":${generation}${error}}`;

function eventsOf() {
  const events: string[] = [];
  const resizes = new ResizeEvents({
    event: (_, type, reason, message) => void events.push(`${type} ${reason} ${message}`),
  });
  return { resizes, events };
}

it('a resize is deferred, starts and is completed, and each is said once', () => {
  const { resizes, events } = eventsOf();
  for (const _ of [1, 2]) resizes.observe(resizing('1', '1', 1), runs('1'), fits);
  expect(events).toEqual([]);
  for (const why of ['no room', 'less room']) resizes.observe(resizing('2', '1', 2), runs('1'), deferred(why));
  expect(events).toEqual([`Warning ResizeDeferred Pod resize OutOfcpu: ${summary('2', 2, ',"error":"no room"')}`]);
  for (const _ of [1, 2]) resizes.observe(resizing('2', '1', 2), runs('1'), fits);
  expect(events.slice(1)).toEqual([`Normal ResizeStarted Pod resize started: ${summary('2', 2)}`]);
  resizes.observe(resizing('2', '2', 2), runs('1'), fits);
  for (const _ of [1, 2]) resizes.observe(resizing('2', '2', 2), runs('2'), fits);
  expect(events.slice(2)).toEqual([`Normal ResizeCompleted Pod resize completed: ${summary('2', 2)}`]);
});

it('the engine refuses a resize: that is said once', () => {
  const { resizes, events } = eventsOf();
  const failure = { reason: 'CreateContainerError', message: 'too little', failures: 1, failedAt: NOW, retryAt: NOW };
  const update = { containerId: 'main-0', resources: {}, retryAt: NOW, failure };
  for (const _ of [1, 2]) {
    resizes.observe(resizing('2', '2', 2), runs('1'), { ...fits, updates: new Map([['main', update]]) });
  }
  expect(events).toEqual([`Warning ResizeError Pod resize error: ${summary('2', 2, ',"error":"too little"')}`]);
});

it('an agent that was started while a resize waits says it only of a later one', () => {
  const { resizes, events } = eventsOf();
  const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Deferred', observedGeneration: 2 }];
  const waiting = (generation: number): Pod => {
    const object = resizing('2', '1', generation);
    return { ...object, status: { ...object.status, conditions } };
  };
  resizes.observe(waiting(2), runs('1'), deferred('no room'));
  expect(events).toEqual([]);
  resizes.observe(waiting(3), runs('1'), deferred('no room'));
  expect(events).toEqual([`Warning ResizeDeferred Pod resize OutOfcpu: ${summary('2', 3, ',"error":"no room"')}`]);
});

it('an agent that was started during a resize says when it is completed', () => {
  const { resizes, events } = eventsOf();
  const object = resizing('2', '2', 2);
  const condition = { type: 'PodResizeInProgress', status: 'True' };
  const begun = { ...object, status: { ...object.status, conditions: [condition] } };
  resizes.observe(begun, runs('1'), fits);
  for (const _ of [1, 2]) resizes.observe(begun, runs('2'), fits);
  expect(events).toEqual([`Normal ResizeCompleted Pod resize completed: ${summary('2', 2)}`]);
});
