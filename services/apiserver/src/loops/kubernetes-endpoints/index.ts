export { kubernetesEndpoints } from './kubernetes-endpoints.ts';
export { ownAddress } from './own-address.ts';
export { createPeerRegistry, type PeerAddress, type PeerRegistry } from './peer-registry.ts';
