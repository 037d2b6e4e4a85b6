import { buildImage } from '@gantry/base/testing';
import { expect, test } from 'vitest';
import { startClientTraffic } from './harness/client-traffic.ts';
import { Cluster } from './harness/cluster.ts';

const cluster = new Cluster();

/** The image of the load balancer under another id, as a newer HAProxy would be. */
async function otherImage(of: string): Promise<AsyncDisposable & { readonly image: string }> {
  const image = `gantry-other-haproxy:${cluster.clusterId}`;
  await buildImage(image, `FROM ${of}\nLABEL other=yes\n`, 'classic');
  return { image, [Symbol.asyncDispose]: async () => void (await cluster.docker(['image', 'rm', '-f', image])) };
}

async function balancer(): Promise<{ readonly id: string; readonly image: string }> {
  const [container] = await cluster.containers('load-balancer');
  if (container === undefined) throw new Error('there is no load balancer');
  return { id: container.id, image: await cluster.docker(['inspect', '-f', '{{.Config.Image}}', container.id]) };
}

test('up replaces the load balancer, and no request of client-go fails', async () => {
  await using namespace = await cluster.namespace();
  const before = await balancer();
  await using other = await otherImage(before.image);
  await using traffic = await startClientTraffic(cluster, namespace.name);
  try {
    await cluster.up({ GANTRY_HAPROXY_IMAGE: other.image });
    const replaced = await balancer();
    expect(replaced.image).toBe(other.image);
    expect(replaced.id).not.toBe(before.id);
  } finally {
    await cluster.up({ GANTRY_HAPROXY_IMAGE: before.image });
  }
  expect((await balancer()).image).toBe(before.image);
  const report = await traffic.end();
  expect(report).toMatchObject({ failures: [], missed: [] });
  expect(report.requests).toBeGreaterThan(100);
  process.stdout.write(
    `the load balancer was replaced twice: ${report.requests} requests, ${report.longestMs} ms at most\n`,
  );
});
