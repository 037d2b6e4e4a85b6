import { describe, expect, it } from 'vitest';
import type { Shell } from '../machine/shell.ts';
import { hasMiscountedNetwork } from './miscounted-network.ts';

const FAILURE = new Error('docker compose failed (1): error while removing network: network a has active endpoints');

/** An engine with these networks of the cluster and the number of containers on each. */
const engine = (networks: Readonly<Record<string, number>>): Shell => ({
  run: (_program, [, verb = '', ...args]) => {
    const names = verb === 'ls' ? Object.keys(networks) : args.slice(2);
    const lines = verb === 'ls' ? names : names.map((name) => String(networks[name]));
    return Promise.resolve({ code: 0, stdout: `${lines.join('\n')}\n`, stderr: '' });
  },
});

describe('hasMiscountedNetwork', () => {
  it.each([
    ['empty networks with endpoints', { pods: 0, control: 0 }, FAILURE, true],
    ['a container that is on one', { pods: 1, control: 0 }, FAILURE, false],
    ['another failure', { pods: 0 }, new Error('no such network'), false],
    ['no network at all', {}, FAILURE, false],
  ])('%s: %j', async (_name, networks, failure, expected) => {
    expect(await hasMiscountedNetwork(engine(networks), 'cluster', failure)).toBe(expected);
  });
});
