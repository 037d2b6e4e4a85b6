import { ENGINE_LABEL, type Node, NODES } from '@gantry/objects';
import { createMetrics } from '@gantry/service';
import { describe, expect, it } from 'vitest';
import { createMeters } from '../../metrics/meters.ts';
import { createControllerHarness } from '../../testing/controller-harness.ts';
import { createNodeRanges } from '../../testing/node-ranges.ts';
import { createNodeIpamController } from './controller.ts';
import { NodeRanges } from './node-ranges.ts';

const nodeOf = (name: string, engine: string, address?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { [ENGINE_LABEL]: engine } },
  status: { addresses: address === undefined ? [] : [{ type: 'InternalIP', address }] },
});

function createNodeIpam(ranges = createNodeRanges()) {
  const metrics = createMetrics();
  return { metrics, controller: createNodeIpamController({ ranges, meter: createMeters(metrics).ranges }) };
}

describe('the nodeipam controller', () => {
  it("writes a host's range to all of its Nodes, and another to each host that joins", async () => {
    const { clock, client, run, stop } = createControllerHarness();
    const { controller, metrics } = createNodeIpam();
    run([controller]);
    await client.put(NODES, nodeOf('a-1', 'a', '10.128.12.3'));
    await client.put(NODES, nodeOf('a-2', 'a', '10.128.12.4'));
    await client.put(NODES, nodeOf('b-1', 'b'));
    await client.put(NODES, nodeOf('c-1', 'c'));
    await client.put(NODES, nodeOf('b-2', 'b', '10.128.28.4'));
    await clock.advance(1000);
    const found = client.all(NODES).map(({ metadata, spec }) => [metadata.name, spec?.podCIDR, spec?.podCIDRs]);
    const ranges = new Map(found.map(([name, range]) => [name, range]));
    expect(new Set(ranges.values()).size).toBe(3);
    expect(ranges.get('a-1')).toBe('10.128.0.0/20');
    expect(ranges.get('a-2')).toBe('10.128.0.0/20');
    expect(ranges.get('b-1')).toBe(ranges.get('b-2'));
    for (const [, range, all] of found) expect(all).toEqual([range]);
    expect((await metrics.render()).text).toContain(
      'node_ipam_controller_cidrset_cidrs_allocations_total{clusterCIDR="10.128.0.0/16"} 5',
    );
    await client.delete(NODES, { namespace: '', name: 'c-1' }, {}, stop.signal);
    await client.put(NODES, nodeOf('d-1', 'd'));
    await clock.advance(1000);
    const served = (await metrics.render()).text.split('\n');
    const tries = 'node_ipam_controller_cidrset_allocation_tries_per_request';
    expect(served).toContain('node_ipam_controller_cidrset_cidrs_releases_total{clusterCIDR="10.128.0.0/16"} 1');
    expect(served).toContain(`${tries}_count{clusterCIDR="10.128.0.0/16"} 6`);
    // Nodes c-1 and d-1 each tried one more range first, that of b. The range of c was free again when d-1 was added.
    expect(served).toContain(`${tries}_sum{clusterCIDR="10.128.0.0/16"} 2`);
    const writes = client.writes.length;
    await clock.advance(600_000);
    expect(client.writes.slice(writes).filter(({ resource }) => resource.resource === 'nodes')).toEqual([]);
  });

  it('gives hosts that join at once different ranges, also after a new leader has begun', async () => {
    const { clock, client, run } = createControllerHarness();
    const { controller } = createNodeIpam();
    for (let i = 0; i < 7; i++) await client.put(NODES, nodeOf(`n${i}`, `e${i}`));
    run([controller]);
    await clock.advance(1000);
    for (let i = 7; i < 14; i++) await client.put(NODES, nodeOf(`n${i}`, `e${i}`));
    run([createNodeIpam().controller]);
    await clock.advance(1000);
    const ranges = client.all(NODES).map(({ spec }) => spec?.podCIDR);
    expect(ranges).not.toContain(undefined);
    expect(new Set(ranges).size).toBe(14);
  });

  it('says that no range is left, and gives one that becomes free', async () => {
    const { clock, client, stop, run, events } = createControllerHarness();
    const { controller } = createNodeIpam(
      new NodeRanges({ clusterCidr: '10.128.0.0/19', podCidr: '10.128.0.0/20', reserved: [] }),
    );
    run([controller]);
    await client.put(NODES, nodeOf('b-1', 'b'));
    await clock.advance(1000);
    await client.put(NODES, nodeOf('c-1', 'c'));
    await clock.advance(1000);
    expect(events('Node').map(({ reason, message }) => [reason, message])).toEqual([
      [
        'CIDRNotAvailable',
        'Node c-1 status is now: CIDRNotAvailable: all 2 ranges of 10.128.0.0/19 (GANTRY_CLUSTER_CIDR) are in use',
      ],
    ]);
    await client.delete(NODES, { namespace: '', name: 'b-1' }, {}, stop.signal);
    await clock.advance(1000);
    expect(client.all(NODES).map(({ metadata, spec }) => [metadata.name, spec?.podCIDR])).toEqual([
      ['c-1', '10.128.16.0/20'],
    ]);
  });
});
