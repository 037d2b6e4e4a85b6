import type { ProxyConfig } from './config.ts';
import { removeBridgeAddresses } from './host/bridge-addresses.ts';
import { removeDockerUser } from './host/docker-user.ts';
import { removeTunnel } from './hosts/tunnel-keeper.ts';
import { tunnelDevice } from './hosts/tunnel.ts';
import { openNft } from './nft/nft.ts';

/** Removes all rules, addresses and routes of the cluster from this host. What is not there is not an error. */
export async function removeRules(config: ProxyConfig): Promise<void> {
  const { signal } = new AbortController();
  // First: without the rules the tunnel would accept packets of all senders.
  const device = tunnelDevice(config.podBridge);
  await removeTunnel(device, signal);
  const nft = await openNft(config.runDir, config.clusterId);
  await nft.apply(`add table ip ${config.clusterId}\ndelete table ip ${config.clusterId}\n`, signal);
  await removeDockerUser({ ...config, tunnelDevice: device }, signal);
  await removeBridgeAddresses({ device: config.podBridge, range: config.ownRange }, signal);
}
