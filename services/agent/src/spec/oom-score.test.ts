import type { Pod, PodSpec } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { container, pod } from '../testing/pods.ts';
import { oomScore } from './oom-score.ts';

const CAPACITY = 4 * 2 ** 30;
const of = (name: string, memory?: string, restartPolicy?: string) =>
  container(name, {
    ...(memory === undefined ? {} : { resources: { requests: { memory } } }),
    ...(restartPolicy === undefined ? {} : { restartPolicy }),
  });
const burstable = (spec: Partial<PodSpec>): Pod => pod(spec, { qosClass: 'Burstable' });
/** Returns the scores of all containers, init containers first. */
const scores = (object: Pod) =>
  [...(object.spec?.initContainers ?? []), ...(object.spec?.containers ?? [])].map((one) =>
    oomScore(object, one, CAPACITY, 'full'),
  );

describe('the OOM score', () => {
  it.each([
    ['Guaranteed', -997],
    ['Burstable', 750],
    ['BestEffort', 1000],
  ])('of a pod of class %s is %i', (qosClass, score) => {
    expect(oomScore(pod({}, { qosClass }), of('main', '1Gi'), CAPACITY, 'full')).toBe(score);
  });

  it('is never below zero where the engine refuses it', () => {
    expect(oomScore(pod({}, { qosClass: 'Guaranteed' }), of('main'), CAPACITY, 'no-sys-resource')).toBe(0);
  });

  it('of a request of nearly nothing or of all memory stays between those of the other classes', () => {
    expect(scores(burstable({ containers: [of('a', '1'), of('b', '4Gi')] }))).toEqual([999, 3]);
  });

  it.each([
    ['system-node-critical', 2_000_001_000, -997],
    ['system-cluster-critical', 2_000_000_000, 1000],
    // The name alone gives no priority.
    ['system-node-critical', 0, 1000],
  ])('of a BestEffort pod of class %s and priority %i is %i', (priorityClassName, priority, score) => {
    const critical = pod({ priorityClassName, priority }, { qosClass: 'BestEffort' });
    expect(oomScore(critical, of('main'), CAPACITY, 'full')).toBe(score);
  });

  it('of a sidecar is not above that of the main container with the least request', () => {
    const initContainers = [of('init'), of('small', '1Mi', 'Always'), of('large', '3Gi', 'Always')];
    const containers = [of('a', '2Gi'), of('b', '1Gi')];
    expect(scores(burstable({ initContainers, containers }))).toEqual([999, 750, 250, 500, 750]);
  });

  it('counts for each container its part of what the pod requests beyond its containers', () => {
    const initContainers = [of('sidecar', undefined, 'Always')];
    const containers = [of('a', '1Gi'), of('b', '512Mi')];
    const resources = { requests: { memory: '3Gi' } };
    // 1.5 GiB for three containers.
    const overhead = { memory: '1Gi' };
    expect(scores(burstable({ initContainers, containers, resources, overhead }))).toEqual([750, 625, 750]);
    expect(scores(burstable({ containers: [of('a', '1Gi')], resources: { requests: { cpu: '1' } } }))).toEqual([750]);
  });
});
