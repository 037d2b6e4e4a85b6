import type { FaultKind, Scene } from '../fault.ts';
import { killContainer } from './process.ts';

const ONCE = [0, 0] as const;

/** What somebody does to containers of pods without the agent's knowledge. Only pods of the campaign's workloads are struck. */
export const POD_FAULTS: readonly FaultKind[] = [
  {
    kind: 'container-kill',
    what: "A container of a workload's pod is killed behind the agent's back.",
    targets: ['pod'],
    durationMs: ONCE,
    weight: 2,
    strike: async ({ engine, fault, random }) => {
      const container = await engine.one(fault.target, random);
      await killContainer(engine, container);
      return container.name;
    },
  },
  {
    kind: 'container-stop',
    what: "A container of a workload's pod is stopped (`docker stop`) behind the agent's back.",
    targets: ['pod', 'pod/sandbox'],
    durationMs: ONCE,
    weight: 2,
    strike: (scene) => actOnPod(scene, ['stop', '-t', '1']),
  },
  {
    kind: 'container-remove',
    what: "A container of a workload's pod is removed (`docker rm -f`) behind the agent's back.",
    targets: ['pod', 'pod/sandbox'],
    durationMs: ONCE,
    weight: 2,
    strike: (scene) => actOnPod(scene, ['rm', '-f']),
  },
  {
    kind: 'container-rename',
    what: "A container of a workload's pod is renamed behind the agent's back, and keeps that name.",
    targets: ['pod'],
    durationMs: ONCE,
    weight: 1,
    strike: async ({ engine, fault, random }) => {
      const { id, name } = await engine.one(fault.target, random);
      await engine.docker(['rename', id, `${name}-chaos`]);
      return `${name} is ${name}-chaos`;
    },
  },
  {
    kind: 'container-pause',
    what: "A container of a workload's pod is frozen, and goes on.",
    targets: ['pod'],
    durationMs: [5_000, 15_000],
    weight: 1,
    strike: async ({ engine, fault, random, undoLater }) => {
      const container = await engine.one(fault.target, random);
      await undoLater([{ undo: 'unpause', container: container.id }]);
      await engine.pause(container);
      return container.name;
    },
  },
];

async function actOnPod({ engine, fault, random }: Scene, args: readonly string[]): Promise<string> {
  const { id, name } = await engine.one(fault.target, random);
  const { code, stderr } = await engine.options.shell.run('docker', [...args, id]);
  // The agent may remove it at the same moment.
  if (code !== 0 && !/no such container|already in progress/i.test(stderr)) await engine.docker(['inspect', id]);
  return name;
}
