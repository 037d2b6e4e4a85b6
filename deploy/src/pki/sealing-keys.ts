import { randomBytes } from 'node:crypto';
import type { Folder } from './folder.ts';

const FILE = 'keys.json';
const SECRET_BYTES = 32;

/**
 * Makes the key with which apiservers seal Secrets in etcd, unless there is one. It is never replaced here: what a lost key has
 * sealed cannot be read again. `npm run reseal -- --rotate` adds further ones.
 */
export async function ensureSealingKey(folder: Folder, report: (line: string) => void): Promise<void> {
  if ((await folder.read(FILE)) !== undefined) return;
  const key = { id: randomBytes(6).toString('hex'), secret: randomBytes(SECRET_BYTES).toString('base64') };
  await folder.write(FILE, `${JSON.stringify({ keys: [key] })}\n`, 'secret');
  report(`sealing key ${key.id} made`);
}
