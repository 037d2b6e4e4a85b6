import type { EngineInfo } from '../runtime/engine.ts';

/** Where forwarders publish their ports: an address of the host's loopback that all systems have. */
export const LOOPBACK = '127.0.0.1';

/** Whether load balancers are forwarded from the host's loopback. The host of Docker Desktop runs its engine in a virtual machine. */
export function isForwarding(setting: 'auto' | 'on' | 'off', { os }: Pick<EngineInfo, 'os'>): boolean {
  return setting === 'auto' ? os === 'Docker Desktop' : setting === 'on';
}
