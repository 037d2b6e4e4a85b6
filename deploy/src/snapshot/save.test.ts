import { expect, test } from 'vitest';
import { fromAnyMember } from './save.ts';

const MEMBERS = ['etcd-0', 'etcd-1', 'etcd-2'];
const container = (service: string, state: string) => ({ name: service, service, state, health: '', image: '' });
const projectOf = (...containers: ReturnType<typeof container>[]) => ({ containers: async () => containers });

test('only a member that runs is asked', async () => {
  const asked: string[] = [];
  const project = projectOf(container('etcd-0', 'exited'), container('etcd-2', 'running'));
  const ask = async (member: string) => {
    asked.push(member);
  };
  await fromAnyMember(project, MEMBERS, ask);
  expect(asked).toEqual(['etcd-2']);
});

test('when none runs, the message names the state of each', async () => {
  const project = projectOf(container('etcd-0', 'exited'));
  await expect(fromAnyMember(project, MEMBERS, async () => undefined)).rejects.toThrow(
    'etcd-0: it is exited; etcd-1: it is without a container; etcd-2: it is without a container',
  );
});
