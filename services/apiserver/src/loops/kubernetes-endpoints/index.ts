export { kubernetesEndpoints } from './kubernetes-endpoints.ts';
export { createPeerRegistry, ownAddress, type PeerAddress, type PeerRegistry } from './peer-registry.ts';
