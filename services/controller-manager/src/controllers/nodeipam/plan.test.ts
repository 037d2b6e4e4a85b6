import { readFileSync } from 'node:fs';
import { ENGINE_LABEL, type Node, parseIpv4Range } from '@gantry/objects';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createNodeRanges } from '../../testing/node-ranges.ts';
import { GivenRanges } from './controller.ts';
import { NodeRanges } from './node-ranges.ts';
import { engineOf, planRange, rangesOf } from './plan.ts';

interface NodeCase {
  readonly engine: string;
  readonly address?: string;
  readonly ranges?: string[];
  readonly deleted?: boolean;
}

interface Case {
  readonly name: string;
  readonly node: NodeCase;
  readonly assigned?: Readonly<Record<string, readonly string[]>>;
  readonly want: { readonly assign?: string; readonly tries?: number; readonly event?: string };
}

const CASES = JSON.parse(readFileSync(new URL('./cases.json', import.meta.url), 'utf8')) as readonly Case[];
const RANGES = createNodeRanges();

const nodeOf = ({ engine, address, ranges, deleted }: NodeCase, name = 'n'): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: {
    name,
    uid: `uid-${name}`,
    labels: engine === '' ? {} : { [ENGINE_LABEL]: engine },
    ...(deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
  },
  ...(ranges === undefined ? {} : { spec: { podCIDR: ranges[0] ?? '', podCIDRs: ranges } }),
  status: { addresses: address === undefined ? [] : [{ type: 'InternalIP', address }] },
});

const assignedOf = (assigned: Case['assigned'] = {}) =>
  new Map(Object.entries(assigned).map(([engine, ranges]) => [engine, new Set(ranges)]));

describe('the range of a Node', () => {
  it.each(CASES.map((one) => [one.name, one] as const))('%s', (_, { node, assigned, want }) => {
    const { actions } = planRange({ node: nodeOf(node), ranges: RANGES, assigned: assignedOf(assigned) });
    expect(actions).toEqual([
      ...(want.assign === undefined ? [] : [{ kind: 'assign', cidr: want.assign, tries: want.tries ?? 0 }]),
      ...(want.event === undefined
        ? []
        : [
            {
              kind: 'event',
              reason: want.event.split(':')[0],
              message: `Node n status is now: ${want.event}`,
            },
          ]),
    ]);
  });

  it('says that there is none when all are in use', () => {
    const all = new Map<string, ReadonlySet<string>>();
    for (let host = 0; host < 14; host++) {
      const { actions } = planRange({ node: nodeOf({ engine: `e${host}` }), ranges: RANGES, assigned: all });
      const [action] = actions;
      if (action?.kind === 'assign') all.set(`e${host}`, new Set([action.cidr]));
    }
    expect(all.size).toBe(14);
    expect(planRange({ node: nodeOf({ engine: 'one-more' }), ranges: RANGES, assigned: all }).actions).toEqual([
      {
        kind: 'event',
        reason: 'CIDRNotAvailable',
        message:
          'Node n status is now: CIDRNotAvailable: all 15 ranges of 10.128.0.0/16 (GANTRY_CLUSTER_CIDR) are in use',
      },
    ]);
  });

  it('is never that of another host, whatever joins, leaves and comes back, with a cache that is late', () => {
    const step = fc.record({
      name: fc.nat(9),
      engine: fc.nat(5),
      act: fc.constantFrom('join', 'leave', 'show', 'address' as const),
      block: fc.nat(16),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const stored = new Map<string, Node>();
        const shown = new Map<string, Node>();
        const given = new GivenRanges();
        for (const { name, engine, act, block } of steps) {
          const key = `n${name}`;
          if (act === 'leave') {
            // The controller sees a deletion and later creations in their order.
            stored.delete(key);
            shown.delete(key);
          }
          if (act === 'show') for (const [at, node] of stored) shown.set(at, node);
          if (act !== 'join' && act !== 'address') continue;
          const address = act === 'address' ? { address: `10.128.${block * 16}.3` } : {};
          const node = stored.get(key) ?? nodeOf({ engine: `e${engine}`, ...address }, key);
          if (!stored.has(key)) stored.set(key, node);
          if (!shown.has(key)) shown.set(key, node);
          const assigned = given.assigned([...shown.values()]);
          const { actions } = planRange({ node: shown.get(key) ?? node, ranges: RANGES, assigned });
          const [action] = actions;
          // The server refuses a second range.
          if (action?.kind !== 'assign' || rangesOf(node).length > 0) continue;
          const written = { ...node, spec: { podCIDR: action.cidr, podCIDRs: [action.cidr] } };
          given.note(written);
          stored.set(key, written);
        }
        const owners = new Map<string, Set<string>>();
        for (const node of stored.values()) {
          for (const range of rangesOf(node)) owners.set(range, (owners.get(range) ?? new Set()).add(engineOf(node)));
        }
        for (const engines of owners.values()) expect([...engines]).toHaveLength(1);
      }),
    );
  });
});

describe("the cluster's range", () => {
  const settings = { clusterCidr: '10.128.0.0/16', podCidr: '10.128.0.0/20', reserved: [] };

  it.each([
    ['contains the first', { podCidr: '10.129.0.0/20' }, '10.128.0.0/16 does not contain the first host'],
    ['is an IPv4 range', { clusterCidr: 'fd00::/64' }, 'fd00::/64 is not an IPv4 range'],
    ['has at most 65,536 parts', { clusterCidr: '10.0.0.0/8', podCidr: '10.0.0.0/25' }, 'more than 65536 ranges'],
    ['has a first part of its own', { reserved: ['10.128.8.0/24'] }, '10.128.0.0/20 overlaps 10.128.8.0/24'],
  ])('%s', (_, changes, message) => {
    expect(() => new NodeRanges({ ...settings, ...changes })).toThrow(message);
  });

  it('gives parts that overlap nothing else, as many as it says', () => {
    fc.assert(
      fc.property(fc.nat(2), fc.nat(3), fc.nat(31), (more, size, at) => {
        const reserved = [`10.0.${at * 8}.0/22`, '10.96.0.0/16'];
        const podCidr = `10.0.0.0/${16 + more + size}`;
        fc.pre(at * 8 >= 256 / 2 ** (more + size));
        const ranges = new NodeRanges({ clusterCidr: '10.0.0.0/16', podCidr, reserved });
        const taken = new Set<string>();
        for (let next = ranges.free(taken); next !== undefined; next = ranges.free(taken)) {
          expect(next.tries).toBe(taken.size);
          taken.add(next.cidr);
        }
        expect(taken.size).toBe(ranges.size - 1);
        const all = [podCidr, ...taken, ...reserved].map((cidr) => parseIpv4Range(cidr) ?? { first: 0, last: 0 });
        const sorted = all.toSorted((one, other) => one.first - other.first);
        for (const [i, { first }] of sorted.entries()) expect(first).toBeGreaterThan(sorted[i - 1]?.last ?? -1);
      }),
    );
  });
});
