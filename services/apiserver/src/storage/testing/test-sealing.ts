import { createSealing, fixedKeys, type Sealing } from '../sealing.ts';

/** Seals Secrets, as production does, with a key that is no secret. */
export const TEST_SEALING: Sealing = createSealing(fixedKeys([{ id: 'test', secret: Buffer.alloc(32, 7) }]), [
  'secrets',
]);
