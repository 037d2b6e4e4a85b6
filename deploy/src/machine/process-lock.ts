import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const BUSY = 5;

/**
 * A lock that one process of this machine holds, until it is disposed of or the process ends; undefined while another one holds it. A file
 * alone cannot tell a process that was killed from one that runs, and two that start together would both find none; SQLite's lock is one of
 * the operating system.
 */
export function takeProcessLock(file: string): Disposable | undefined {
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file);
  try {
    database.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { readonly errcode?: number }).errcode !== BUSY) throw error;
    return undefined;
  }
  return { [Symbol.dispose]: () => database.close() };
}
