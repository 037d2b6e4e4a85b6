import { podRequests, type Pod, type PodStatus, type ResourceRequirements } from '@gantry/objects';
import { describe, expect, it } from 'vitest';
import { podStatus } from '../status/pod-status.ts';
import { computePodActions } from '../plan/plan.ts';
import { emptyMemory, type PodMemory } from '../plan/pod-memory.ts';
import { container, NOW, pod, podState, running, sandbox } from '../testing/pods.ts';
import { allocatedPod, asksForResize, grantedPod, judgeResize, type ResizeVerdict } from './resize.ts';
import { resourceLimits } from './resources.ts';

const MOUNTED: PodMemory = { ...emptyMemory, volumes: 'ready' };
const FITS: ResizeVerdict = { kind: 'fits' };
const DEFERRED: ResizeVerdict = { kind: 'deferred', reason: 'OutOfcpu', message: 'no room' };
const INFEASIBLE: ResizeVerdict = { kind: 'infeasible', reason: 'Infeasible', message: 'never' };
const sizes = (cpu: string, memory: string): ResourceRequirements => ({
  requests: { cpu, memory, 'example.com/gpu': '1' },
  limits: { cpu, memory, 'example.com/gpu': '1' },
});
const LIMITED = [
  container('a', { resources: sizes('100m', '64Mi') }),
  container('b', { resources: sizes('100m', '64Mi') }),
];
const OPEN = [...LIMITED, container('c', { resources: { requests: { cpu: '100m' } } })];

function report(object: Pod, resize: ResizeVerdict = FITS): PodStatus {
  const containers = (object.spec?.containers ?? []).map((one) =>
    running({ name: one.name, resources: resourceLimits(pod(), one) }),
  );
  const state = podState([sandbox()], containers);
  const memory = { ...MOUNTED, resize };
  const plan = computePodActions(object, state, memory, NOW);
  const node = { nodeAddress: '10.0.0.1', recursiveReadOnly: 'supported' } as const;
  return podStatus({ pod: object, state, memory, plan, ...node, messages: new Map() }, NOW);
}

/** Returns a running pod as its node has reported it. A resize asks for these pod-level `resources`. */
function asking(spec: Partial<NonNullable<Pod['spec']>>, resources: ResourceRequirements): Pod {
  const started = pod(spec);
  return pod({ ...spec, resources }, report(started));
}

describe('a pod without pod-level resources', () => {
  it.each([
    ['limits', { containers: LIMITED }],
    ['a container without limits', { containers: OPEN }],
    ['no resources', {}],
    ['overhead', { containers: LIMITED, overhead: { cpu: '1' } }],
    ['an empty list', { containers: LIMITED, resources: {} }],
  ])('asks for no resize once its node has reported it, with %s', (_, spec) => {
    const reported = pod(spec, report(pod(spec)));
    expect(reported.status?.resources).toBeDefined();
    expect(asksForResize(reported)).toBe(false);
    expect(allocatedPod(reported).spec?.resources).toEqual(reported.spec?.resources);
  });
});

describe('pod-level resources that a pod gets by a resize', () => {
  const wanted = { requests: { cpu: '1', memory: '1Gi' } };

  it.each([
    ['limits', { containers: LIMITED }],
    ['a container without limits', { containers: OPEN }],
    ['overhead', { containers: LIMITED, overhead: { cpu: '1', memory: '1Gi' } }],
    ['an init container', { containers: LIMITED, initContainers: [container('i', { resources: sizes('2', '1Gi') })] }],
    ['no resources', {}],
  ])('leave what is counted of it as it was until they are granted, with %s', (_, spec) => {
    const object = asking(spec, wanted);
    expect(asksForResize(object)).toBe(true);
    expect(podRequests(allocatedPod(object))).toEqual(podRequests(pod(spec)));
    expect(podRequests(grantedPod(object, INFEASIBLE))).toEqual(podRequests(pod(spec)));
  });

  it.each([DEFERRED, INFEASIBLE])('limit no container that has no limit while they are $kind', (verdict) => {
    for (const containers of [OPEN, LIMITED]) {
      const granted = grantedPod(asking({ containers }, { limits: { cpu: '2', memory: '2Gi' } }), verdict);
      for (const one of containers) expect(resourceLimits(granted, one)).toEqual(resourceLimits(pod(), one));
    }
  });

  it('are CPU, memory and huge pages alone until they are granted', () => {
    const granted = grantedPod(asking({ containers: LIMITED }, wanted), DEFERRED);
    expect(granted.spec?.resources).toEqual({
      requests: { cpu: '200m', memory: '128Mi' },
      limits: { cpu: '200m', memory: '128Mi' },
    });
  });

  it.each([DEFERRED, INFEASIBLE])('are not in the status while they are $kind, which is written once', (verdict) => {
    for (const containers of [OPEN, LIMITED, [container()]]) {
      const object = asking({ containers }, wanted);
      const first = report(object, verdict);
      const { resources, allocatedResources } = first;
      expect({ resources, allocatedResources }).toEqual({
        resources: object.status?.resources,
        allocatedResources: object.status?.allocatedResources,
      });
      expect(report({ ...object, status: first }, verdict)).toEqual(first);
    }
  });

  it('are in the status when they are granted, after which the pod asks for nothing', () => {
    const object = asking({ containers: LIMITED }, wanted);
    const status = report(object);
    expect(status).toMatchObject({
      resources: wanted,
      allocatedResources: { ...wanted.requests, 'example.com/gpu': '2' },
    });
    expect(status.resources).not.toHaveProperty('limits');
    expect(asksForResize({ ...object, status })).toBe(false);
    expect(report({ ...object, status })).toEqual(status);
  });

  it('are deferred by what they ask for beyond the containers, and infeasible with limits where the pod has no group', () => {
    const room = (cpuMillis: number) => () => ({ cpuMillis, memoryBytes: 2 ** 40, storageBytes: 0 });
    const object = asking({ containers: LIMITED }, { requests: { cpu: '300m', memory: '128Mi' } });
    expect(judgeResize(object, [], room(299))).toMatchObject({ kind: 'deferred' });
    expect(judgeResize(object, [], room(300))).toEqual(FITS);
    const same = asking({ containers: LIMITED }, { requests: { cpu: '200m' } });
    expect(judgeResize(same, [], room(0))).toEqual(FITS);
    const limited = asking({ containers: LIMITED }, { limits: { cpu: '1' } });
    expect(judgeResize(limited, [], room(9_000), podState([sandbox()], []))).toMatchObject({ kind: 'infeasible' });
  });
});
