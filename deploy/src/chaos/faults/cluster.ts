import type { ChaosContainer } from '../engine.ts';
import type { FaultKind, Scene } from '../fault.ts';
import { killContainer } from './process.ts';

/** Faults of the whole cluster, and of what is around it. */
export const CLUSTER_FAULTS: readonly FaultKind[] = [
  {
    kind: 'full-restart',
    what: 'All containers of the cluster are killed and start again, both in random order. Pods run on.',
    targets: ['cluster'],
    durationMs: [0, 0],
    weight: 2,
    company: 'alone',
    strike: restartAll,
  },
  {
    kind: 'agents-scaled-up',
    what: 'One more agent runs, and is scaled away again.',
    targets: ['agent'],
    durationMs: [10_000, 25_000],
    weight: 1,
    strike: scaleUp,
  },
  {
    kind: 'service-replaced',
    what: 'All containers of a service are replaced by new ones of the same image, as in an upgrade.',
    targets: ['scheduler', 'controller-manager', 'dns', 'apiserver', 'load-balancer'],
    durationMs: [0, 0],
    weight: 1,
    strike: replaceService,
  },
];

async function restartAll({ engine, random, undoLater }: Scene): Promise<string> {
  const all = (await engine.services()).filter(({ state, service }) => state === 'running' && service !== 'pod-egress');
  // The last step is undone first: the order of starts is this one, from the end.
  await undoLater(shuffled(all, random).map(({ id }) => ({ undo: 'start', container: id })));
  for (const container of shuffled(all, random)) await killContainer(engine, container);
  return `${all.length} containers were killed`;
}

async function scaleUp({ engine, undoLater, compose }: Scene): Promise<string> {
  const count = (await engine.services()).filter(({ service }) => service === 'agent').length;
  await undoLater([{ undo: 'compose', args: scaleArguments(count) }]);
  await compose(scaleArguments(count + 1));
  return `${count + 1} agents`;
}

const scaleArguments = (count: number) => [
  'up',
  '-d',
  '--no-build',
  '--no-deps',
  '--no-recreate',
  '--scale',
  `agent=${count}`,
  'agent',
];

async function replaceService({ fault, compose }: Scene): Promise<string> {
  await compose(['up', '-d', '--no-build', '--no-deps', '--force-recreate', fault.target]);
  return `new containers of ${fault.target}`;
}

function shuffled(containers: readonly ChaosContainer[], random: () => number): readonly ChaosContainer[] {
  return containers
    .map((container) => ({ container, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ container }) => container);
}
