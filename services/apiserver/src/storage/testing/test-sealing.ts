import { createSealing, fixedKeys, type Sealing } from '../sealing.ts';

/** Seals Secrets as in production, with a fixed test key. */
export const TEST_SEALING: Sealing = createSealing(fixedKeys([{ id: 'test', secret: Buffer.alloc(32, 7) }]), [
  'secrets',
]);
