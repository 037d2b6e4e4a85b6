import { randomBytes } from 'node:crypto';
import Docker from 'dockerode';
import { describeRuntime } from '../runtime/testing/runtime-contract.ts';
import { connectDocker } from './docker-runtime.ts';

const SOCKET = '/var/run/docker.sock';
const LABEL = 'gantry.cluster';

/** Each test has its own network and cluster id; both are removed at its end. */
describeRuntime('docker runtime', async () => {
  const docker = new Docker({ socketPath: SOCKET });
  const cluster = `contract-${randomBytes(4).toString('hex')}`;
  const third = randomBytes(1)[0] ?? 0;
  const network = await docker.createNetwork({
    Name: cluster,
    Labels: { [LABEL]: cluster },
    IPAM: { Config: [{ Subnet: `10.213.${third}.0/24` }] },
  });
  return {
    runtime: connectDocker(SOCKET, () => 'no-sys-resource'),
    cluster,
    network: cluster,
    addresses: [`10.213.${third}.130`, `10.213.${third}.131`],
    sandboxImage: 'registry.k8s.io/pause:3.10',
    image: 'busybox:1.36',
    kill: async (id) => {
      await docker.getContainer(id).kill();
    },
    eventually: async (check) => {
      for (let tried = 0; tried < 1200; tried++) {
        if (await check()) return;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      throw new Error('the condition did not hold within 60 s');
    },
    [Symbol.asyncDispose]: async () => {
      const containers = await docker.listContainers({ all: true, filters: { label: [`${LABEL}=${cluster}`] } });
      await Promise.all(containers.map(({ Id }) => docker.getContainer(Id).remove({ force: true, v: true })));
      await network.remove();
    },
  };
});
