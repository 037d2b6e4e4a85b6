import type { Node, PersistentVolume, PersistentVolumeClaim } from '@gantry/objects';

/** Where claims, their volumes and this node's object come from. Undefined: it does not exist. */
export interface ClaimSource {
  claim(namespace: string, name: string, signal: AbortSignal): Promise<PersistentVolumeClaim | undefined>;
  volume(name: string, signal: AbortSignal): Promise<PersistentVolume | undefined>;
  node(name: string, signal: AbortSignal): Promise<Node | undefined>;
}
