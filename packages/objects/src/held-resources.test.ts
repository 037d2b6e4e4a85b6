import { describe, expect, it } from 'vitest';
import type { Container, ContainerStatus, Pod, ResourceRequirements } from './generated/types.ts';
import { withHeldResources } from './held-resources.ts';

interface Case {
  readonly asked: string;
  readonly granted?: string;
  readonly actual?: string;
  readonly pending?: string;
  readonly init?: 'sidecar' | 'init';
}

/** The cpu request and limit that the only container holds. */
function held({ asked, granted, actual, pending, init }: Case): readonly (string | undefined)[] {
  const amounts = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
  const container: Container = {
    name: 'c',
    resources: amounts(asked),
    ...(init === 'sidecar' ? { restartPolicy: 'Always' } : {}),
  };
  const status: ContainerStatus = {
    name: 'c',
    image: '',
    imageID: '',
    ready: true,
    restartCount: 0,
    ...(granted === undefined ? {} : { allocatedResources: { cpu: granted } }),
    ...(actual === undefined ? {} : { resources: amounts(actual) }),
  };
  const pod: Pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'p' },
    spec: { containers: init === undefined ? [container] : [], ...(init ? { initContainers: [container] } : {}) },
    status: {
      ...(init === undefined ? { containerStatuses: [status] } : { initContainerStatuses: [status] }),
      ...(pending ? { conditions: [{ type: 'PodResizePending', status: 'True', reason: pending }] } : {}),
    },
  };
  const { spec } = withHeldResources(pod);
  const { resources } = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])][0] ?? {};
  return [resources?.requests?.['cpu'], resources?.limits?.['cpu']];
}

describe('what a container holds', () => {
  it.each<readonly [string, Case, readonly string[]]>([
    ['is what it asks for before its node says anything', { asked: '1' }, ['1', '1']],
    ['is what it asks for where nothing changes', { asked: '1', granted: '1', actual: '1000m' }, ['1', '1']],
    ['is more while it grows', { asked: '2', granted: '1', actual: '1' }, ['2', '2']],
    ['stays while it shrinks', { asked: '1', granted: '2', actual: '2' }, ['2', '2']],
    ['stays until the container runs with less', { asked: '1', granted: '1', actual: '2' }, ['2', '2']],
    ['is more while growing waits', { asked: '2', granted: '1', actual: '1', pending: 'Deferred' }, ['2', '2']],
    ['is not what it can never get', { asked: '9', granted: '1', actual: '1', pending: 'Infeasible' }, ['1', '1']],
    ['counts for a sidecar', { asked: '1', granted: '2', actual: '2', init: 'sidecar' }, ['2', '2']],
    ['is what is asked for by a container that ends', { asked: '1', actual: '2', init: 'init' }, ['1', '1']],
  ])('%s', (_, of, expected) => {
    expect(held(of)).toEqual(expected);
  });
});

describe('what a pod holds of pod-level resources', () => {
  const of = (asked: string, actual?: string, pending?: string) => {
    const amounts = (cpu: string) => ({ requests: { cpu }, limits: { cpu } });
    const shown = actual === undefined ? undefined : { ...amounts(actual), requests: { cpu: actual, memory: '1Gi' } };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', image: 'i' }], resources: amounts(asked) },
      status: {
        ...(shown === undefined ? {} : { resources: shown }),
        ...(pending === undefined
          ? {}
          : { conditions: [{ type: 'PodResizePending', status: 'True', reason: pending }] }),
      },
    };
    return withHeldResources(pod).spec?.resources;
  };

  it.each([
    ['is what it asks for before its node says anything', of('1'), '1'],
    ['is more while it grows', of('2', '1'), '2'],
    ['stays while it shrinks', of('1', '2'), '2'],
    ['is not what it can never get', of('9', '1', 'Infeasible'), '1'],
  ])('%s', (_, found, cpu) => {
    expect(found).toEqual({ requests: { cpu }, limits: { cpu } });
  });

  it('is nothing where it came by a resize that can never be carried out', () => {
    expect(of('9', undefined, 'Infeasible')).toBeUndefined();
    expect(of('9', undefined, 'Deferred')).toEqual({ requests: { cpu: '9' }, limits: { cpu: '9' } });
  });
});

describe('of a pod whose status has the sums of its containers, the pod holds at pod level', () => {
  const sums = { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1' } };
  const of = (resources: ResourceRequirements | undefined, statuses: readonly ContainerStatus[], reason = '') => {
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'p' },
      spec: { containers: [{ name: 'c', resources: sums }], ...(resources === undefined ? {} : { resources }) },
      status: {
        ...{ resources: sums, allocatedResources: sums.requests, containerStatuses: [...statuses] },
        conditions: [{ type: 'PodResizePending', status: 'True', reason }],
      },
    };
    return { pod, held: withHeldResources(pod) };
  };
  const running: ContainerStatus = {
    ...{ name: 'c', image: '', imageID: '', ready: true, restartCount: 0 },
    ...{ resources: sums, allocatedResources: sums.requests },
  };

  it('nothing, where it has no pod-level resources', () => {
    const { pod, held } = of(undefined, []);
    expect(held).toBe(pod);
    expect(of(undefined, [running]).held.spec).toEqual(pod.spec);
  });

  it('the most of them and of what it asks for by a resize', () => {
    const wanted = { requests: { cpu: '2' } };
    expect(of(wanted, [running], 'Deferred').held.spec?.resources).toEqual(wanted);
    expect(of({ requests: { cpu: '500m' } }, [running], 'Deferred').held.spec?.resources).toEqual({
      requests: { cpu: '1' },
    });
  });

  it('the same as its containers, where it asks for what it can never get', () => {
    const { held } = of({ requests: { cpu: '2' }, limits: { cpu: '4', memory: '4Gi' } }, [running], 'Infeasible');
    expect(held.spec?.resources).toEqual({ requests: { cpu: '1' }, limits: { cpu: '1' } });
  });
});
